-- The meaning of texts: themes, mood and kind, and what they teach (0001_8_meaning.sql). Shares and sums
-- change in the same call, under the lock of the workspace's progress row, as those of the tag memory.

-- Opens themes, and replaces the shares of these texts. opened: [{number, id, tag_hash, title}]. tagged:
-- [{id, number, text_version, hashes, tag_hashes, theme_cell, cues, cue_cells, marks, bands}]. waiting:
-- [{id, theme, theme_cell}]: earlier texts that have got a theme by their likeness. joined: [{id,
-- similar_id}]: earlier feedback that has got a similar one.
create or replace function store_meaning(ws uuid, tagger integer, tagged jsonb, others jsonb, standing uuid[]) returns void
  language plpgsql as $$
declare
  t record;
begin
  for t in
    select o.id, o.tag_hash, o.title from jsonb_to_recordset(others -> 'opened') as o (number int, id uuid, tag_hash bigint, title text)
    order by o.number
  loop
    perform open_theme(ws, t.id, t.tag_hash, t.title, reserve_positions(ws, 1) + 1);
  end loop;
  perform subtract_meaning(ws, standing);
  perform add_meaning(ws, tagger, tagged, standing);
  perform place_waiting(ws, others -> 'waiting');
  for t in select j.id, j.similar_id from jsonb_to_recordset(others -> 'joined') as j (id uuid, similar_id uuid) loop
    perform join_similar(ws, t.id, t.similar_id);
  end loop;
  perform forget_oldest_meaning(ws);
end $$;

-- Gives themes to earlier texts, unless they have one or are gone. waiting: [{id, theme, theme_cell}].
create or replace function place_waiting(ws uuid, waiting jsonb) returns void
  language plpgsql as $$
declare
  w record;
  placed uuid[] := '{}';
  changed uuid[];
  at bigint;
begin
  for w in select r.id, r.theme_cell from jsonb_to_recordset(waiting) as r (id uuid, theme_cell int) loop
    update meaning_share as s set theme_cell = w.theme_cell
    where s.workspace_id = ws and s.record_id = w.id and s.theme_cell is null;
    if found then placed := placed || w.id; end if;
  end loop;
  if cardinality(placed) = 0 then return; end if;
  perform count_theme(ws, placed, 1);
  changed := array(select f.id from feedback as f where f.workspace_id = ws and f.id = any (placed) and f.theme_id is null);
  perform take_off_sums(ws, changed);
  at := reserve_positions(ws, cardinality(placed));
  for w in
    select r.id, t.id as theme_id from jsonb_to_recordset(waiting) as r (id uuid, theme int)
    join theme as t on t.workspace_id = ws and t.number = r.theme where r.id = any (placed)
  loop
    at := at + 1;
    update feedback as f set theme_id = w.theme_id, theme_by = 'likeness', uncorrected = with_likeness(f.uncorrected, w.theme_id), change_position = at
    where f.workspace_id = ws and f.id = w.id and f.theme_id is null;
    continue when found;
    update conversation as c set theme_id = w.theme_id, change_position = at
    where c.workspace_id = ws and c.id = w.id and c.theme_id is null;
  end loop;
end $$;

-- Whether a workspace has the same themes as when `known` was made (themeSet in db/tags/store-tags.ts).
create or replace function has_themes(ws uuid, known text) returns boolean
  language plpgsql stable as $$
begin
  return known = (
    select count(*) || ' ' || coalesce((array_agg(t.id order by t.number desc))[1]::text, '') from theme as t where t.workspace_id = ws);
end $$;

create or replace function add_meaning(ws uuid, tagger integer, tagged jsonb, standing uuid[]) returns void
  language plpgsql as $$
begin
  insert into meaning_share (workspace_id, record_id, number, text_version, tagger_version, terms, tags, theme_cell, cues, cue_cells, bands, marks)
  select g.workspace_id, t.id, t.number, t.text_version, tagger, t.hashes, t.tag_hashes, t.theme_cell, t.cues, t.cue_cells, t.bands, decode(t.marks, 'hex')
  from workspace_progress as g cross join jsonb_to_recordset(tagged) as t (
    id uuid, number bigint, text_version text, hashes bigint[], tag_hashes bigint[], theme_cell int, cues bigint[],
    cue_cells int[], bands bigint[], marks text)
  where g.workspace_id = ws and t.id = any (standing);
  insert into text_band (workspace_id, band, record_id)
  select g.workspace_id, b.band, t.id
  from workspace_progress as g cross join jsonb_to_recordset(tagged) as t (id uuid, bands bigint[]) cross join unnest(t.bands) as b (band)
  where g.workspace_id = ws and t.id = any (standing)
  on conflict do nothing;
  perform count_meaning(ws, standing, 1);
end $$;

-- Takes the shares of these records out of the sums.
create or replace function subtract_meaning(ws uuid, records uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  gone uuid[] := array(select s.record_id from meaning_share as s where s.workspace_id = ws and s.record_id = any (records));
begin
  if cardinality(gone) = 0 then return; end if;
  perform count_meaning(ws, gone, -1);
  delete from text_band as b using (
    select u.band, s.record_id from meaning_share as s cross join lateral unnest(s.bands) as u (band)
    where s.workspace_id = ws and s.record_id = any (gone)
  ) as g
  where b.workspace_id = ws and b.band = g.band and b.record_id = g.record_id;
  delete from meaning_share where workspace_id = ws and record_id = any (gone);
end $$;

-- Adds the shares of these records to the sums (change 1), or subtracts them (change -1). Deletes sums
-- that reach zero. The hash 0 with the cell 0 counts all shares.
create or replace function count_meaning(ws uuid, records uuid[], change int) returns void
  language plpgsql as $$
declare
  lessened bigint[];
begin
  perform count_theme(ws, records, change);
  insert into meaning_sum as k (workspace_id, hash, cell, texts)
  select s.workspace_id, c.hash, c.cell, change * count(*)
  from meaning_share as s cross join lateral (
    select 0::bigint as hash, 0 as cell
    union all
    select t.hash, u.cell from unnest(0::bigint || s.cues) as t (hash) cross join unnest(s.cue_cells) as u (cell)
  ) as c
  where s.workspace_id = ws and s.record_id = any (records)
  group by s.workspace_id, c.hash, c.cell
  on conflict (workspace_id, hash, cell) do update set texts = k.texts + excluded.texts;
  if change > 0 then return; end if;
  lessened := 0::bigint || array(
    select distinct u.hash from meaning_share as s cross join lateral unnest(s.terms || s.cues) as u (hash)
    where s.workspace_id = ws and s.record_id = any (records));
  delete from meaning_sum where workspace_id = ws and hash = any (lessened) and texts <= 0;
end $$;

create or replace function count_theme(ws uuid, records uuid[], change int) returns void
  language plpgsql as $$
begin
  insert into meaning_sum as k (workspace_id, hash, cell, texts)
  select s.workspace_id, t.hash, s.theme_cell, change * count(*)
  from meaning_share as s cross join lateral unnest(0::bigint || s.terms) as t (hash)
  where s.workspace_id = ws and s.record_id = any (records) and s.theme_cell is not null
  group by s.workspace_id, t.hash, s.theme_cell
  on conflict (workspace_id, hash, cell) do update set texts = k.texts + excluded.texts;
end $$;

-- The most shares of a workspace, so that a large workspace learns from its latest texts.
create or replace function most_meaning_shares() returns integer
  language sql immutable parallel safe as 'select 50000';

-- Removes the oldest shares beyond the bound, at most 1,000 at once.
create or replace function forget_oldest_meaning(ws uuid) returns void
  language plpgsql as $$
declare
  excess integer := (select k.texts from meaning_sum as k where k.workspace_id = ws and k.hash = 0 and k.cell = 0) - most_meaning_shares();
begin
  if coalesce(excess, 0) <= 0 then return; end if;
  perform subtract_meaning(ws, array(
    select s.record_id from meaning_share as s where s.workspace_id = ws and s.number > 0
    order by s.number, s.record_id limit least(excess, 1000)));
end $$;

-- What the texts of the workspace have taught about these hashes. texts_with: how many texts of the tag
-- memory have the term.
create or replace function known_meaning(ws uuid, wanted bigint[])
returns table (hash bigint, texts_with integer, cells integer[], texts integer[])
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select hash, coalesce(t.texts, 0), coalesce(k.cells, '{}'), coalesce(k.texts, '{}') from (
      select s.hash, s.texts from tag_term as s where s.workspace_id = ws and s.hash = any (wanted)
    ) as t
    full join (
      select s.hash, array_agg(s.cell) as cells, array_agg(s.texts) as texts from meaning_sum as s
      where s.workspace_id = ws and s.hash = any (wanted) group by s.hash
    ) as k using (hash);
end $$;

-- The last texts of the workspace, the newest first, without these records.
create or replace function last_texts(ws uuid, except_records uuid[], most integer)
returns table (id uuid, terms bigint[], tags bigint[], has_theme boolean)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
begin
  return query
    select s.record_id, case when s.theme_cell is null then s.terms else '{}' end, s.tags, s.theme_cell is not null
    from meaning_share as s
    where s.workspace_id = ws and s.number > 0 and s.record_id <> all (except_records)
    order by s.number desc, s.record_id desc limit most;
end $$;

-- Feedback that may be near-identical to texts with these bands, at most twenty of a band.
create or replace function near_texts(ws uuid, of_bands bigint[], except_records uuid[])
returns table (id uuid, bands bigint[], marks bytea, similar_id uuid)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select n.record_id, n.shared, s.marks, s.similar_id
    from (
      select b.record_id, array_agg(w.band) as shared from unnest(of_bands) as w (band) cross join lateral (
        select k.record_id from text_band as k where k.workspace_id = ws and k.band = w.band limit 20
      ) as b
      where b.record_id <> all (except_records)
      group by b.record_id
    ) as n
    cross join lateral (
      select m.marks, f.similar_id from meaning_share as m join feedback as f on f.workspace_id = ws and f.id = m.record_id
      where m.workspace_id = ws and m.record_id = n.record_id offset 0
    ) as s;
end $$;

-- Lets a feedback share an id with a text that is nearly the same.
create or replace function join_similar(ws uuid, record uuid, with_id uuid) returns void
  language plpgsql as $$
declare
  at bigint;
begin
  perform from feedback as f where f.workspace_id = ws and f.id = record and f.similar_id is null;
  if not found then return; end if;
  perform take_off_sums(ws, array[record]);
  at := reserve_positions(ws, 1) + 1;
  update feedback as f set similar_id = with_id, change_position = at
  where f.workspace_id = ws and f.id = record;
end $$;

-- Feedback that is replaced or goes, and so is like no other any more. The caller gives it a change position.
create or replace function end_similar(ws uuid, unlike uuid[]) returns void
  language plpgsql as $$
declare
  similar_ids uuid[] := array(
    select distinct f.similar_id from feedback as f where f.workspace_id = ws and f.id = any (unlike) and f.similar_id is not null);
begin
  if cardinality(similar_ids) = 0 then return; end if;
  update feedback set similar_id = null where workspace_id = ws and id = any (unlike);
  perform leave_similar(ws, similar_ids);
end $$;

-- A feedback that is left alone has no similar one any more.
create or replace function leave_similar(ws uuid, similar_ids uuid[]) returns void
  language plpgsql as $$
declare
  similar_to uuid;
  left_ids uuid[];
  at bigint;
begin
  foreach similar_to in array similar_ids loop
    left_ids := array(select f.id from feedback as f where f.workspace_id = ws and f.similar_id = similar_to limit 2);
    continue when cardinality(left_ids) <> 1;
    perform take_off_sums(ws, left_ids);
    at := reserve_positions(ws, 1) + 1;
    update feedback set similar_id = null, change_position = at where workspace_id = ws and id = left_ids[1];
  end loop;
end $$;

-- The values of a source with a theme by likeness; null if nothing is corrected.
create or replace function with_likeness(uncorrected jsonb, theme_id uuid) returns jsonb
  language sql immutable parallel safe as $$
  select uncorrected || jsonb_build_object('themeId', theme_id, 'themeBy', 'likeness')
$$;

-- Moves feedback that was placed by its likeness to other themes. moved: [{id, theme, cell}]. Returns how
-- many it moved.
create or replace function move_like(ws uuid, moved jsonb) returns integer
  language plpgsql
  set enable_seqscan = off
as $$
declare
  m record;
  moves integer := 0;
  at bigint;
begin
  if not lock_progress(ws) then return 0; end if;
  for m in
    select r.id, r.cell, t.id as theme_id from jsonb_to_recordset(moved) as r (id uuid, theme integer, cell integer)
    join theme as t on t.workspace_id = ws and t.number = r.theme
  loop
    perform from feedback as f where f.workspace_id = ws and f.id = m.id and f.theme_by = 'likeness';
    continue when not found;
    perform count_theme(ws, array[m.id], -1);
    perform take_off_sums(ws, array[m.id]);
    update meaning_share as s set theme_cell = m.cell where s.workspace_id = ws and s.record_id = m.id;
    perform count_theme(ws, array[m.id], 1);
    at := reserve_positions(ws, 1) + 1;
    update feedback as f set theme_id = m.theme_id, uncorrected = with_likeness(f.uncorrected, m.theme_id), change_position = at
    where f.workspace_id = ws and f.id = m.id;
    moves := moves + 1;
  end loop;
  delete from meaning_sum as k where k.workspace_id = ws and k.texts <= 0;
  return moves;
end $$;

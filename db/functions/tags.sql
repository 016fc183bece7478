-- Tags of records, and the categories of a workspace: exactly the tags that its records carry.

-- The texts of the records that this version of the tagger has not read; with `is_retag`, of all of
-- them. `teaches`: whether the tagger learns from the text. It does not learn from feedback for which
-- clients sent an empty list of tags, and not from feedback besides `taught_ids`.
create or replace function texts_to_read(
  ws uuid, feedback_ids uuid[], taught_ids uuid[], conversation_ids uuid[], tagger int, is_retag boolean)
returns table (record text, id uuid, number bigint, text_version text, tags text[], teaches boolean, text text, satisfaction double precision,
   known_kind text, known_theme integer, theme_by text)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  c record;
begin
  return query
    select 'feedback', f.id, f.number, tagged_version(f.number, f.corrections), case when f.tags_generated then null else f.tags end,
      f.id = any (taught_ids) and (f.tags_generated or f.tags <> '{}'), concat_ws(E'\n', f.title, f.description), case when f.rating between s.scale_low and s.scale_high
        then (f.rating - s.scale_low) / (s.scale_high - s.scale_low) end,
      f.corrections ->> 'kind', t.number, f.theme_by
    from feedback as f
    left join lateral (
      select k.scale_low, k.scale_high from source as k where k.workspace_id = ws and k.source = f.source offset 0
    ) as s on true
    left join lateral (
      select k.number from theme as k where k.workspace_id = ws and k.id = f.theme_id offset 0
    ) as t on true
    where f.workspace_id = ws and f.id = any (feedback_ids)
      and (is_retag or not exists (
        select from meaning_share as s
        where s.workspace_id = ws and s.record_id = f.id and s.text_version = tagged_version(f.number, f.corrections)
          and s.tagger_version = tagger
        offset 0
      ));
  for c in
    select k.id, k.number, (select t.number from theme as t where t.workspace_id = ws and t.id = k.theme_id) as theme
    from conversation as k where k.workspace_id = ws and k.id = any (conversation_ids)
  loop
    select version, content into text_version, text from conversation_text(ws, c.id);
    continue when not is_retag and exists (
      select from meaning_share as s
      where s.workspace_id = ws and s.record_id = c.id and s.text_version = texts_to_read.text_version
        and s.tagger_version = tagger
    );
    record := 'conversation';
    id := c.id;
    number := c.number;
    teaches := true;
    known_theme := c.theme;
    return next;
  end loop;
end $$;

-- The text of a conversation for tags: its incoming messages with a paragraph separator in between.
-- `version` changes when one of them comes, goes or is replaced. Without `offset 0`, the planner
-- could read all messages by the primary key, in the order of ids.
create or replace function conversation_text(ws uuid, conversation uuid, out version text, out content text)
  language plpgsql stable as $$
begin
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), '')),
    coalesce(string_agg(m.content, E'\u2029' order by m.created_at, m.id), '')
  into version, content
  from (
    select k.* from message as k where k.workspace_id = ws and k.conversation_id = conversation and k.incoming offset 0
  ) as m;
end $$;

-- The same `version`, without building the text.
create or replace function conversation_version(ws uuid, conversation uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), ''))
    from (
      select k.id, k.number from message as k where k.workspace_id = ws and k.conversation_id = conversation and k.incoming offset 0
    ) as m
  );
end $$;

-- Stores what was found in texts, and their shares, for the records whose text has not changed since the
-- tagger read it. Tags of people stay. A repetition stores the same. Returns how many records it stored;
-- null if the themes are others than `known_themes`, or a theme is to be opened and a text has changed:
-- then everything has to be found again.
-- tagged: [{record, id, number, text_version, tags, teaches, judged, given, hashes, traits, tag_hashes,
-- titles}], with the members of store_meaning.
create or replace function store_tags(
  ws uuid, tagger integer, tagged jsonb, others jsonb, known_themes text, most_terms bigint) returns integer
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  standing uuid[];
  taught uuid[];
  memory tag_memory;
begin
  if not lock_progress(ws) then return 0; end if;
  if not has_themes(ws, known_themes) then return null; end if;
  standing := standing_records(ws, tagged);
  -- A theme may have been opened for a text that is gone.
  if jsonb_array_length(others -> 'opened') > 0 and cardinality(standing) < jsonb_array_length(tagged) then return null; end if;
  perform store_meaning(ws, tagger, tagged, others, standing);
  taught := array(
    select t.id from jsonb_to_recordset(tagged) as t (id uuid, teaches boolean) where t.teaches and t.id = any (standing));
  perform subtract_shares(ws, taught);
  perform add_shares(ws, tagger, tagged, taught);
  perform write_tags(ws, tagger, tagged, standing);
  perform name_nameless_themes(ws);
  -- A similar text may be gone since the tagger read it.
  perform leave_similar(ws, array(
    select distinct t.similar_id from jsonb_to_recordset(tagged) as t (id uuid, similar_id uuid)
    where t.similar_id is not null and t.id = any (standing)));
  select * into memory from tag_memory where workspace_id = ws;
  perform forget_oldest(ws, true, memory.judged_terms - most_terms);
  perform forget_oldest(ws, false, memory.terms - memory.judged_terms - most_terms);
  perform note_texts(ws, cardinality(standing));
  return cardinality(standing);
end $$;

-- The records that still have the text that was read.
create or replace function standing_records(ws uuid, tagged jsonb) returns uuid[]
  language plpgsql stable as $$
declare
  standing uuid[];
  c record;
begin
  standing := array(
    select t.id from jsonb_to_recordset(tagged) as t (record text, id uuid, text_version text, judged boolean)
    cross join lateral (
      select tagged_version(k.number, k.corrections) as version, k.tags_generated from feedback as k where k.workspace_id = ws and k.id = t.id and t.record = 'feedback' offset 0
    ) as f
    where f.version = t.text_version and f.tags_generated <> t.judged
  );
  for c in
    select t.id, t.text_version from jsonb_to_recordset(tagged) as t (record text, id uuid, text_version text)
    where t.record = 'conversation'
  loop
    perform from conversation as k where k.workspace_id = ws and k.id = c.id;
    if found and conversation_version(ws, c.id) = c.text_version then standing := standing || c.id; end if;
  end loop;
  return standing;
end $$;

-- Writes the generated tags record by record, since the plan of a join could read all records of
-- the workspace. Counts the tags.
create or replace function write_tags(ws uuid, tagger integer, tagged jsonb, standing uuid[]) returns void
  language plpgsql as $$
declare
  t record;
  at bigint := reserve_positions(ws, cardinality(standing));
  lost text[] := array(
    select unnest(f.tags) from feedback as f where f.workspace_id = ws and f.id = any (standing) and f.tags_generated
    union all
    select unnest(c.tags) from conversation as c where c.workspace_id = ws and c.id = any (standing)
  );
  gained text[] := '{}';
begin
  perform take_off_sums(ws, standing);
  for t in
    select r.record, r.id, r.tags, r.judged, r.mood, r.kind, r.theme_by, r.similar_id, h.id as theme_id,
      case when r.theme_by <> 'person' then h.id end as found_id
    from jsonb_to_recordset(tagged) as r (record text, id uuid, tags text[], judged boolean, mood double precision, kind text,
      theme integer, theme_by text, similar_id uuid)
    left join lateral (
      select k.id from theme as k where k.workspace_id = ws and k.number = r.theme limit 1
    ) as h on true
    where r.id = any (standing)
  loop
    at := at + 1;
    if not t.judged then gained := gained || t.tags; end if;
    if t.record = 'conversation' then
      update conversation as c set tags = t.tags, tagger_version = tagger, mood = t.mood, kind = t.kind,
        theme_id = coalesce(c.theme_id, t.theme_id), change_position = at
      where c.workspace_id = ws and c.id = t.id;
    else
      update feedback as f set tags = case when t.judged then f.tags else t.tags end,
        tagger_version = tagger, mood = t.mood,
        kind = case when f.corrections ? 'kind' then f.kind else t.kind end,
        theme_id = coalesce(f.theme_id, t.theme_id), theme_by = coalesce(f.theme_by, t.theme_by),
        similar_id = coalesce(f.similar_id, t.similar_id),
        uncorrected = f.uncorrected || found_values(
          t.kind, coalesce(f.uncorrected ->> 'themeId', t.found_id::text)::uuid,
          coalesce(f.uncorrected ->> 'themeBy', nullif(t.theme_by, 'person'))),
        change_position = at
      where f.workspace_id = ws and f.id = t.id;
    end if;
  end loop;
  perform count_tags(ws, gained, lost);
end $$;

-- Counts the tags that records of the workspace gain and lose, each as often as it is listed. The shares
-- of the records must have changed before, since themes lose titles that no share has.
-- Deletes a category without uses. A category that loses a use and stays gets a new change
-- position: before a failover of Postgres, other strides may have removed its last use, and
-- consumers may have seen its removal.
create or replace function count_tags(ws uuid, gained text[], lost text[]) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  before bigint;
  at timestamptz := clock_timestamp();
  ids uuid[] := array(select distinct category_id(ws, g.title) from unnest(lost) as g (title));
begin
  if cardinality(gained) + cardinality(lost) = 0 then return; end if;
  before := reserve_positions(ws, cardinality(gained) + cardinality(lost));
  insert into feedback_category as c (workspace_id, id, title, uses, created_at, change_position)
  select g.workspace_id, category_id(ws, t.title), t.title, t.uses, at, before + t.place
  from workspace_progress as g cross join (
    select u.title, sum(u.uses) as uses, row_number() over (order by u.title) as place
    from (select unnest(gained) as title, 1 as uses union all select unnest(lost), -1) as u
    group by u.title
  ) as t
  where g.workspace_id = ws
  on conflict (workspace_id, id) do update set
    uses = c.uses + excluded.uses,
    change_position = case when c.id = any (ids) then excluded.change_position else c.change_position end;
  if cardinality(lost) = 0 then return; end if;
  delete from feedback_category as c where c.workspace_id = ws and c.id = any (ids) and c.uses <= 0;
  ids := array(
    select g.id from unnest(ids) as g (id)
    where not exists (select from feedback_category as c where c.workspace_id = ws and c.id = g.id));
  if cardinality(ids) > 0 then perform lose_titles(ws); end if;
  perform add_tombstones(ws, 'feedback_category', ids);
  perform end_alerts(ws, 'tag', ids);
end $$;

create or replace function category_id(ws uuid, title text) returns uuid
  language sql immutable strict parallel safe as $$
  select md5(ws::text || ':' || title)::uuid
$$;

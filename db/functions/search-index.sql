-- How the search index (0001_7_search.sql) is written. It has the words of each text that a worker has read, and
-- changes under the lock of the workspace's progress row. Removed texts, and texts that others
-- replace, leave it at once.

-- The texts of these records that the index lacks; with `is_retag`, all of them.
create or replace function unindexed_texts(ws uuid, feedback_ids uuid[], conversation_ids uuid[], is_retag boolean)
returns table (record text, id uuid)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
    select distinct x.record, x.id
    from (
      select 'feedback' as record, f.id from unnest(feedback_ids) as f (id)
      union all
      select 'conversation', c.id from unnest(conversation_ids) as c (id)
      union all
      select 'message', m.id from unnest(conversation_ids) as c (id) cross join lateral (
        select k.id from message as k where k.workspace_id = ws and k.conversation_id = c.id offset 0
      ) as m
    ) as x
    where is_retag or not exists (select from search_text as s where s.workspace_id = ws and s.record_id = x.id offset 0);
end $$;

-- These texts, in their order: the first ones, up to about `most` bytes, but at least one. Null
-- without a record.
create or replace function texts_to_index(ws uuid, records text[], ids uuid[], most integer)
returns table (text_version text, text text)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  used bigint := 0;
begin
  for at in 1 .. cardinality(ids) loop
    case records[at]
      when 'feedback' then
        select f.number::text, concat_ws(E'\n', f.title, f.description) into text_version, text
        from feedback as f where f.workspace_id = ws and f.id = ids[at];
      when 'conversation' then
        select c.number::text, coalesce(c.title, '') into text_version, text
        from conversation as c where c.workspace_id = ws and c.id = ids[at];
      when 'message' then
        select m.number::text, m.content into text_version, text
        from message as m where m.workspace_id = ws and m.id = ids[at];
    end case;
    used := used + coalesce(octet_length(text), 0);
    return next;
    exit when used > most;
  end loop;
end $$;

-- Indexes texts whose record still has this version, in blocks from `first_block` on: all feedback,
-- or titles of conversations and messages. Numbers follow the times of creation, so that a block has
-- texts of few days, and lists find the newest in few blocks.
create or replace function store_words(
  ws uuid, first_block integer, records text[], record_ids uuid[], text_versions text[], words_of text[]
) returns void
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  ids uuid[];
  words text[];
  times timestamptz[];
  span search_span;
  first_number integer := first_block * 1024;
begin
  if not lock_progress(ws) then return; end if;
  select array_agg(n.id order by n.created_at, n.id), array_agg(n.words order by n.created_at, n.id),
    array_agg(n.created_at order by n.created_at, n.id)
  into ids, words, times
  from (
    select t.id, t.words, f.created_at
    from unnest(records, record_ids, text_versions, words_of) as t (record, id, text_version, words)
    cross join lateral (
      select k.number, k.created_at from feedback as k where t.record = 'feedback' and k.workspace_id = ws and k.id = t.id
      union all
      select k.number, k.created_at from conversation as k
      where t.record = 'conversation' and k.workspace_id = ws and k.id = t.id
      union all
      select k.number, k.created_at from message as k where t.record = 'message' and k.workspace_id = ws and k.id = t.id
      offset 0
    ) as f
    where f.number::text = t.text_version
  ) as n;
  if ids is null then return; end if;
  perform forget_texts(ws, ids);
  select * into span from search_span as s
  where s.workspace_id = ws and s.block >= first_block and s.block < first_block + 1048576 order by s.block desc limit 1;
  if span.is_filed then
    first_number := (span.block + 1) * 1024;
  elsif found then
    first_number := (
      select s.number + 1 from search_text as s
      where s.workspace_id = ws and s.number between span.block * 1024 and span.block * 1024 + 1023 order by s.number desc limit 1);
  end if;
  insert into search_text (workspace_id, record_id, number, hashes)
  select g.workspace_id, t.id, first_number + t.place - 1, t.words::bigint[]
  from workspace_progress as g cross join unnest(ids, words) with ordinality as t (id, words, place)
  where g.workspace_id = ws;
  insert into search_span as k (workspace_id, block, texts, least_at, greatest_at)
  select g.workspace_id, (first_number + t.place - 1) / 1024, count(*), min(t.at), max(t.at)
  from workspace_progress as g cross join unnest(times) with ordinality as t (at, place)
  where g.workspace_id = ws
  group by g.workspace_id, (first_number + t.place - 1) / 1024
  on conflict (workspace_id, block) do update set
    texts = k.texts + excluded.texts, least_at = least(k.least_at, excluded.least_at),
    greatest_at = greatest(k.greatest_at, excluded.greatest_at);
  for full_block in first_number / 1024 .. (first_number + cardinality(ids)) / 1024 - 1 loop
    perform file_block(ws, full_block);
  end loop;
end $$;

-- Writes the words of a full block.
create or replace function file_block(ws uuid, full_block integer) returns void
  language plpgsql as $$
begin
  insert into search_block (workspace_id, block, hash, places)
  select s.workspace_id, full_block, w.hash, array_agg((s.number % 1024)::smallint)
  from search_text as s cross join lateral unnest(s.hashes) as w (hash)
  where s.workspace_id = ws and s.number between full_block * 1024 and full_block * 1024 + 1023
  group by s.workspace_id, w.hash order by w.hash;
  update search_span as s set is_filed = true where s.workspace_id = ws and s.block = full_block;
end $$;

-- Takes the texts of these feedback, conversations (their titles) or messages out of the index.
create or replace function forget_texts(ws uuid, records uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  numbers integer[] := array(
    select s.number from search_text as s where s.workspace_id = ws and s.record_id = any (records));
  b record;
begin
  for b in
    select n.number / 1024 as block, array_agg(n.number) as numbers, array_agg((n.number % 1024)::smallint) as places
    from unnest(numbers) as n (number) group by n.number / 1024
  loop
    perform forget_places(ws, b.block, b.numbers, b.places);
    update search_span as k set texts = k.texts - cardinality(b.numbers) where k.workspace_id = ws and k.block = b.block;
    delete from search_span as k where k.workspace_id = ws and k.block = b.block and k.texts <= 0;
    delete from search_text as s where s.workspace_id = ws and s.number = any (b.numbers);
  end loop;
end $$;

-- Takes these texts of a filed block out of its words.
create or replace function forget_places(ws uuid, of_block integer, numbers integer[], gone smallint[]) returns void
  language plpgsql as $$
declare
  words bigint[];
begin
  perform from search_span as s where s.workspace_id = ws and s.block = of_block and s.is_filed;
  if not found then return; end if;
  words := array(
    select distinct unnest(s.hashes) from search_text as s where s.workspace_id = ws and s.number = any (numbers));
  update search_block as k set places = places_without(k.places, gone)
  where k.workspace_id = ws and k.block = of_block and k.hash = any (words);
  delete from search_block as k
  where k.workspace_id = ws and k.block = of_block and k.hash = any (words) and k.places = '{}';
end $$;

create or replace function places_without(places smallint[], gone smallint[]) returns smallint[]
  language sql immutable as $$
  select coalesce(array_agg(p.place), '{}') from unnest(places) as p (place) where p.place <> all (gone)
$$;

-- Tags of records, and the categories of a workspace: exactly the tags that its records carry.

-- The texts of the records that this version of the tagger has not read, except feedback that
-- clients gave an empty list of tags. `is_retag`: the texts of all records that people have not
-- tagged.
create or replace function texts_to_read(ws uuid, feedback_ids uuid[], conversation_ids uuid[], tagger int, is_retag boolean)
returns table (record text, id uuid, number bigint, text_version text, tags text[], text text)
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
      concat_ws(E'\n', f.title, f.description)
    from feedback as f
    where f.workspace_id = ws and f.id = any (feedback_ids) and (f.tags_generated or (not is_retag and f.tags <> '{}'))
      and (is_retag or not exists (
        select from tag_share as s
        where s.workspace_id = ws and s.record_id = f.id and s.text_version = tagged_version(f.number, f.corrections)
          and s.tagger_version = tagger
        offset 0
      ));
  for c in select k.id, k.number from conversation as k where k.workspace_id = ws and k.id = any (conversation_ids) loop
    select version, content into text_version, text from conversation_text(ws, c.id);
    continue when not is_retag and exists (
      select from tag_share as s
      where s.workspace_id = ws and s.record_id = c.id and s.text_version = texts_to_read.text_version
        and s.tagger_version = tagger
    );
    record := 'conversation';
    id := c.id;
    number := c.number;
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

-- Stores generated tags and shares for the records whose text has not changed since the tagger read
-- it. Tags of people stay. A repetition stores the same tags and shares. Returns how many records
-- it stored. tagged: [{record, id, number, text_version, tags, judged, given, hashes, traits,
-- tag_hashes, titles}].
create or replace function store_tags(ws uuid, tagger integer, tagged jsonb, most_terms bigint) returns integer
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  standing uuid[];
  memory tag_memory;
begin
  if not lock_progress(ws) then return 0; end if;
  standing := standing_records(ws, tagged);
  perform write_tags(ws, tagger, tagged, standing);
  perform subtract_shares(ws, standing);
  perform add_shares(ws, tagger, tagged, standing);
  select * into memory from tag_memory where workspace_id = ws;
  perform forget_oldest(ws, true, memory.judged_terms - most_terms);
  perform forget_oldest(ws, false, memory.terms - memory.judged_terms - most_terms);
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
  perform take_off_sums(ws, array(
    select r.id from jsonb_to_recordset(tagged) as r (id uuid, judged boolean) where r.id = any (standing) and not r.judged));
  for t in
    select r.record, r.id, r.tags from jsonb_to_recordset(tagged) as r (record text, id uuid, tags text[], judged boolean)
    where r.id = any (standing) and not r.judged
  loop
    gained := gained || t.tags;
    at := at + 1;
    if t.record = 'feedback' then
      update feedback set tags = t.tags, tagger_version = tagger, change_position = at where workspace_id = ws and id = t.id;
    else
      update conversation set tags = t.tags, tagger_version = tagger, change_position = at where workspace_id = ws and id = t.id;
    end if;
  end loop;
  perform count_tags(ws, gained, lost);
end $$;

-- Counts the tags that records of the workspace gain and lose, each as often as it is listed.
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
  perform add_tombstones(ws, 'feedback_category', ids);
end $$;

create or replace function category_id(ws uuid, title text) returns uuid
  language sql immutable strict parallel safe as $$
  select md5(ws::text || ':' || title)::uuid
$$;

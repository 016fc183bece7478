-- Tags of records, and the categories that they come to.

-- The texts of those records that this tagger has not read yet; `again` those that it has, too, but for what people tagged.
create or replace function texts_to_read(ws uuid, feedback_ids uuid[], conversation_ids uuid[], tagger int, again boolean)
returns table (record text, id uuid, number bigint, text_version text, tags text[], text text)
  language sql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
  as $$
  select w.* from (
    select 'feedback', f.id, f.number, f.number::text as version, case when f.tags_generated then null else f.tags end,
      concat_ws(E'\n', f.title, f.description)
    from feedback as f
    where f.workspace_id = ws and f.id = any (feedback_ids) and (f.tags_generated or (not again and f.tags <> '{}'))
    union all
    select 'conversation', c.id, c.number, t.version, null, t.content
    from conversation as c, conversation_text(ws, c.id) as t
    where c.workspace_id = ws and c.id = any (conversation_ids)
  ) as w
  where again or not exists (
    select from tag_share as s
    where s.workspace_id = ws and s.record_id = w.id and s.text_version = w.version and s.tagger_version = tagger
    offset 0
  )
$$;

-- A conversation's text as tags are made from it, a paragraph separator between its messages, and what changes with it: a message can be
-- replaced, or come, by a submission that is older than the conversation's.
create or replace function conversation_text(ws uuid, conversation uuid, out version text, out content text)
  language sql stable as $$
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), '')),
    coalesce(string_agg(m.content, E'\u2029' order by m.created_at, m.id), '')
  from message as m
  where m.workspace_id is not distinct from ws and m.conversation_id = conversation and m.incoming
$$;

-- The version of a conversation's text without the text.
create or replace function conversation_version(ws uuid, conversation uuid) returns text
  language sql stable as $$
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), ''))
  from message as m
  where m.workspace_id is not distinct from ws and m.conversation_id = conversation and m.incoming
$$;

-- Keeps generated tags and what the texts have taught, those of records whose text is still the one that was read. Tags that a
-- tagger gave before are replaced, people's never. Doing it again changes nothing. Returns how many records it kept.
create or replace function store_tags(ws uuid, tagger integer, tagged jsonb, most_terms bigint) returns integer
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  standing tagged_record[];
  ids uuid[];
  memory tag_memory;
begin
  perform lock_workspaces(array[ws]);
  if is_deleted(ws) then return 0; end if;
  standing := array(
    select t from jsonb_populate_recordset(null::tagged_record, tagged) as t
    where case t.record
      when 'feedback' then exists (
        select from feedback as f
        where f.workspace_id = ws and f.id = t.id and f.number::text = t.text_version and f.tags_generated <> t.judged
        offset 0
      )
      else (
        exists (select from conversation as c where c.workspace_id = ws and c.id = t.id offset 0)
        and conversation_version(ws, t.id) = t.text_version
      )
    end
    order by t.id
  );
  ids := array(select id from unnest(standing));
  -- Mostly people's tags teach only, and nothing is given.
  if exists (select from unnest(standing) as t where not t.judged) then
    perform give_tags(ws, tagger, standing);
  end if;
  perform take_out(ws, ids);
  insert into tag_share (
    workspace_id, record_id, number, text_version, tagger_version, judged, given, terms, hashes, traits, tag_hashes, titles)
  select ws, id, number, text_version, tagger, judged, given, cardinality(hashes), hashes, traits, tag_hashes, titles
  from unnest(standing);
  select * into memory from tag_memory where workspace_id = ws;
  perform forget_oldest(ws, true, memory.judged_terms - most_terms);
  perform forget_oldest(ws, false, memory.terms - memory.judged_terms - most_terms);
  return cardinality(ids);
end $$;

-- Writes the generated ones of these tags, and counts them.
create or replace function give_tags(ws uuid, tagger integer, standing tagged_record[]) returns void
  language plpgsql as $$
declare
  ids uuid[] := array(select id from unnest(standing));
  deltas jsonb;
begin
  select jsonb_object_agg(title, delta) into deltas
  from (
    select title, sum(uses) as delta
    from (
      select g.title, 1 as uses from unnest(standing) as t, unnest(t.tags) as g (title) where not t.judged
      union all
      select unnest(tags), -1 from feedback where workspace_id = ws and id = any (ids) and tags_generated
      union all
      select unnest(tags), -1 from conversation where workspace_id = ws and id = any (ids)
    ) as changes
    group by title having sum(uses) <> 0
  ) as summed;
  update feedback as f set tags = t.tags, tagger_version = tagger
  from unnest(standing) as t, lateral (select ctid as place from feedback where workspace_id = ws and id = t.id offset 0) as held
  where not t.judged and t.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  update conversation as c set tags = t.tags, tagger_version = tagger
  from unnest(standing) as t, lateral (select ctid as place from conversation where workspace_id = ws and id = t.id offset 0) as held
  where t.record = 'conversation' and c.workspace_id is not distinct from ws and c.ctid = held.place;
  if deltas is not null then
    perform count_tags(ws, deltas);
  end if;
end $$;

-- The text that a tagger read is gone, and with it the version that read it.
create or replace function forget_tagger() returns trigger
  language plpgsql as $$
begin
  new.tagger_version := null;
  return new;
end $$;

-- Categories exist exactly while something stored carries the tag. A title comes once of a workspace.
create or replace function count_all_tags(changes new_uses[]) returns void
  language plpgsql as $$
begin
  insert into feedback_category as c (workspace_id, id, title, uses)
  select workspace_id, category_id(workspace_id, title), title, uses from unnest(changes) where uses <> 0
  order by workspace_id, category_id(workspace_id, title)
  on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
  if exists (select from unnest(changes) where uses < 0) then
    delete from feedback_category as c
    using unnest(changes) as g,
      lateral (
        select ctid as place from feedback_category
        where workspace_id = g.workspace_id and id = category_id(g.workspace_id, g.title) and uses <= 0 offset 0
      ) as held
    where g.uses < 0 and c.workspace_id is not distinct from g.workspace_id and c.ctid = held.place;
  end if;
end $$;

-- Of one workspace: {title: how many records more or fewer}.
create or replace function count_tags(ws uuid, deltas jsonb) returns void
  language sql as $$
  select count_all_tags(array(
    select t::new_uses from (select ws as workspace_id, key as title, value::bigint as uses from jsonb_each_text(deltas)) as t
  ))
$$;

create or replace function category_id(ws uuid, title text) returns uuid
  language sql immutable strict parallel safe as $$
  select md5(ws::text || ':' || title)::uuid
$$;

-- Tags of records that go, each as often as a record carries it.
create or replace function count_off(ws uuid, tags text[]) returns void
  language sql as $$
  select count_tags(ws, jsonb_object_agg(t.title, -t.uses))
  from (select title, count(*) as uses from unnest(tags) as g (title) group by title) as t
  having count(*) > 0
$$;

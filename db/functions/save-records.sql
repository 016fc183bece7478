-- The parts of `save` for feedback, conversations and messages. They plan under its settings.

-- Most feedback is new. Rows are read only if one conflicted, and these are replaced: what they
-- waited for and the share of their text are removed. first_number stays.
create or replace function save_feedback(ws uuid[], ends bigint[], records jsonb, uses jsonb) returns void
  language plpgsql as $$
declare
  added uuid[];
  replaced jsonb;
begin
  with new_rows as (
    insert into feedback as f (
      workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
      contact_id, account_id, project_id, source_created_at, number, first_number, change_position)
    select ws[r.w], r.id, r.description, r.title, r.is_transcript, r.tags, r.tags is null, r.rating, r.source, r.source_id, r.source_data,
      r.contact, r.account, r.project, r.source_created_at, r.number, r.first_number,
      ends[r.w] - r.later
    from jsonb_to_recordset(records) as r (
      w integer, id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text,
      source_id text, source_data jsonb, contact uuid, account uuid, project uuid, source_created_at timestamptz, number bigint,
      first_number bigint, later integer)
    on conflict (workspace_id, id) do nothing
    returning f.id
  )
  select coalesce(array_agg(id), '{}') into added from new_rows;
  if cardinality(added) < jsonb_array_length(records) then
    replaced := (
      select jsonb_agg(r.record) from jsonb_array_elements(records) as r (record) where (r.record ->> 'id')::uuid <> all (added)
    );
    uses := coalesce(uses, '[]') || tags_of_feedback(ws, replaced);
    perform replace_feedback(ws, ends, replaced);
  end if;
  if uses is not null then perform count_uses(ws, ends, uses); end if;
end $$;

-- The tags of these records as uses that end.
create or replace function tags_of_feedback(ws uuid[], records jsonb) returns jsonb
  language plpgsql stable as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('w', r.w, 'title', g.title, 'uses', -1)), '[]')
    from jsonb_to_recordset(records) as r (w integer, id uuid)
    cross join lateral (select x.tags from feedback as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1) as f
    cross join lateral unnest(f.tags) as g (title)
  );
end $$;

create or replace function replace_feedback(ws uuid[], ends bigint[], records jsonb) returns void
  language plpgsql as $$
declare
  place integer;
  ids uuid[];
begin
  insert into feedback as f (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
    contact_id, account_id, project_id, source_created_at, number, first_number, change_position)
  select ws[r.w], r.id, r.description, r.title, r.is_transcript, r.tags, r.tags is null, r.rating, r.source, r.source_id, r.source_data,
    r.contact, r.account, r.project, r.source_created_at, r.number, r.first_number,
    ends[r.w] - r.later
  from jsonb_to_recordset(records) as r (
    w integer, id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text,
    source_id text, source_data jsonb, contact uuid, account uuid, project uuid, source_created_at timestamptz, number bigint,
    first_number bigint, later integer)
  on conflict (workspace_id, id) do update set
    description = excluded.description, title = excluded.title, is_transcript = excluded.is_transcript, tags = excluded.tags,
    tags_generated = excluded.tags_generated, rating = excluded.rating, source = excluded.source, source_id = excluded.source_id,
    source_data = excluded.source_data, contact_id = excluded.contact_id, account_id = excluded.account_id,
    project_id = excluded.project_id, source_created_at = excluded.source_created_at, number = excluded.number,
    tagger_version = null, change_position = excluded.change_position;
  for place, ids in select * from ids_by_place(records) loop
    perform forget_unresolved(ws[place], ids);
    perform take_out(ws[place], ids);
  end loop;
end $$;

-- A category exists exactly while a record carries the tag. counted: how many more or fewer uses; a
-- title may occur several times. `later` is set where the submission brings the tag.
create or replace function count_uses(ws uuid[], ends bigint[], counted jsonb) returns void
  language plpgsql as $$
declare
  place integer;
  emptied uuid[];
begin
  insert into feedback_category as c (workspace_id, id, title, uses, change_position)
  select ws[s.w], category_id(ws[s.w], s.title), s.title, s.uses, ends[s.w] - coalesce(s.later, 0)
  from (
    select r.w, r.title, sum(r.uses)::bigint as uses, min(r.later) as later
    from jsonb_to_recordset(counted) as r (w integer, title text, uses bigint, later integer)
    group by r.w, r.title
  ) as s
  where s.uses <> 0
  order by 1, 2
  on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
  for place in select distinct r.w from jsonb_to_recordset(counted) as r (w integer, uses bigint) where r.uses < 0 loop
    with deleted as (
      delete from feedback_category as c
      where c.workspace_id = ws[place] and c.uses <= 0 and c.id = any (array(
        select category_id(ws[place], r.title) from jsonb_to_recordset(counted) as r (w integer, title text, uses bigint)
        where r.w = place and r.uses < 0
      ))
      returning c.id
    )
    select coalesce(array_agg(id), '{}') into emptied from deleted;
    perform add_tombstones(ws[place], 'feedback_category', emptied);
  end loop;
end $$;

-- records: conversations that are replaced or new. touched: conversations that an older submission
-- only adds to. The text of both changes, so no tagger has read it. Returns the conversations that
-- existed before.
create or replace function save_conversations(ws uuid[], ends bigint[], records jsonb, touched jsonb, contacts jsonb) returns uuid[]
  language plpgsql as $$
declare
  known uuid[] := array(select r.id from jsonb_to_recordset(touched) as r (id uuid));
begin
  if records is not null then
    known := known || array(
      select c.id from jsonb_to_recordset(records) as r (w integer, id uuid)
      cross join lateral (select x.id from conversation as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1) as c
    );
    insert into conversation as c (
      workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, latest_version, number,
      change_position)
    select ws[r.w], r.id, r.external_id, r.source, r.title, r.rating, r.properties, r.created_at, r.updated_at, r.latest_version,
      r.number, ends[r.w] - r.later
    from jsonb_to_recordset(records) as r (
      w integer, id uuid, external_id text, source text, title text, rating double precision, properties jsonb, created_at timestamptz,
      updated_at timestamptz, latest_version timestamptz, number bigint, later integer)
    on conflict (workspace_id, id) do update set
      title = excluded.title, rating = excluded.rating, properties = excluded.properties, created_at = excluded.created_at,
      updated_at = excluded.updated_at, latest_version = greatest(c.latest_version, excluded.latest_version),
      number = excluded.number, tagger_version = null, change_position = excluded.change_position;
  end if;
  if touched is not null then
    insert into conversation as c (
      workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, latest_version, number,
      change_position)
    select h.workspace_id, h.id, h.external_id, h.source, h.title, h.rating, h.properties, h.created_at, h.updated_at,
      greatest(h.latest_version, r.latest_version), h.number, ends[r.w] - r.later
    from jsonb_to_recordset(touched) as r (w integer, id uuid, latest_version timestamptz, later integer)
    cross join lateral (select * from conversation as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1) as h
    on conflict (workspace_id, id) do update set
      latest_version = excluded.latest_version, tagger_version = null, change_position = excluded.change_position;
  end if;
  if contacts is not null then
    insert into conversation_contact (workspace_id, conversation_id, contact_id)
    select ws[r.w], r.conversation, r.contact from jsonb_to_recordset(contacts) as r (w integer, conversation uuid, contact uuid)
    on conflict (workspace_id, conversation_id, contact_id) do nothing;
  end if;
  return known;
end $$;

-- known: conversations that existed before. A message that replaces another one removes what that
-- one waited for.
create or replace function save_messages(ws uuid[], ends bigint[], records jsonb, known uuid[]) returns void
  language plpgsql as $$
declare
  place integer;
  ids uuid[];
begin
  if cardinality(known) > 0 then
    for place, ids in select * from ids_by_place(records) loop
      perform forget_unresolved(ws[place], ids);
    end loop;
  end if;
  insert into message as m (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at, version, number,
    change_position)
  select ws[r.w], r.id, r.conversation, r.external_id, r.incoming, r.contact, r.content, r.source_url, r.raw_data, r.created_at,
    r.version, r.number, ends[r.w] - r.later
  from jsonb_to_recordset(records) as r (
    w integer, id uuid, conversation uuid, external_id text, incoming boolean, contact uuid, content text, source_url text,
    raw_data jsonb, created_at timestamptz, version timestamptz, number bigint, later integer)
  on conflict (workspace_id, id) do update set
    incoming = excluded.incoming, contact_id = excluded.contact_id, content = excluded.content, source_url = excluded.source_url,
    raw_data = excluded.raw_data, created_at = excluded.created_at, version = excluded.version, number = excluded.number,
    change_position = excluded.change_position;
end $$;

-- Removes what records wait for, in all slots, record by record: planned for an array, or with the
-- slot, the statement would read all waiting records of the workspace.
create or replace function forget_unresolved(ws uuid, records uuid[]) returns void
  language plpgsql as $$
declare
  record uuid;
begin
  foreach record in array records loop
    delete from unresolved as u where u.workspace_id = ws and u.record_id = record;
  end loop;
end $$;

-- The parts of `save` for feedback, conversations and messages. These functions plan under the
-- settings of `save`.

-- Inserts or replaces feedback. Removes the tag uses, the share and the unresolved references of
-- each replaced version. former_tags: the tags of versions that the stride itself has replaced.
-- `g_category` has added a use of each, and this function removes it again. So each of these
-- categories gets a tombstone or a new change position: before a failover, such a version may have
-- been stored, and a consumer of the change feed may have seen its categories. first_number stays.
create or replace function save_feedback(ws uuid[], ends bigint[], records jsonb) returns void
  language plpgsql as $$
declare
  place integer;
  gone text[];
  replaced uuid[];
begin
  for place, gone, replaced in
    select r.w, array_agg(t.title) filter (where t.title is not null), array_agg(distinct f.id) filter (where f.id is not null)
    from jsonb_to_recordset(records) as r (w integer, id uuid, former_tags text[])
    left join lateral (
      select x.id, x.tags from feedback as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1
    ) as f on true
    left join lateral unnest(f.tags || r.former_tags) as t (title) on true
    where f.id is not null or r.former_tags is not null
    group by r.w
  loop
    perform count_tags(ws[place], '{}', coalesce(gone, '{}'));
    perform forget_unresolved(ws[place], coalesce(replaced, '{}'));
    perform forget_shares(ws[place], coalesce(replaced, '{}'));
  end loop;
  insert into feedback as f (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
    contact_id, account_id, project_id, source_created_at, number, newest_number, first_number, change_position)
  select ws[r.w], r.id, r.description, r.title, r.is_transcript, r.tags, r.tags is null, r.rating, r.source, r.source_id, r.source_data,
    r.contact, r.account, r.project, r.source_created_at, r.number, r.newest_number, r.first_number,
    ends[r.w] - r.later
  from jsonb_to_recordset(records) as r (
    w integer, id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text,
    source_id text, source_data jsonb, contact uuid, account uuid, project uuid, source_created_at timestamptz, number bigint,
    newest_number bigint, first_number bigint, later integer)
  on conflict (workspace_id, id) do update set
    description = excluded.description, title = excluded.title, is_transcript = excluded.is_transcript, tags = excluded.tags,
    tags_generated = excluded.tags_generated, rating = excluded.rating, source = excluded.source, source_id = excluded.source_id,
    source_data = excluded.source_data, contact_id = excluded.contact_id, account_id = excluded.account_id,
    project_id = excluded.project_id, source_created_at = excluded.source_created_at, number = excluded.number,
    newest_number = excluded.newest_number, tagger_version = null, change_position = excluded.change_position;
end $$;

-- records: conversations that are replaced or new. touched: conversations that an older submission
-- only adds to. A tagger has to read both again, since their texts may change. Returns the
-- conversations that existed before.
create or replace function save_conversations(ws uuid[], ends bigint[], records jsonb, touched jsonb, contacts jsonb) returns uuid[]
  language plpgsql as $$
declare
  known uuid[] := array(select r.id from jsonb_to_recordset(touched) as r (id uuid));
  touch record;
begin
  if records is not null then
    known := known || array(
      select c.id from jsonb_to_recordset(records) as r (w integer, id uuid)
      cross join lateral (select x.id from conversation as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1) as c
    );
    insert into conversation as c (
      workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, latest_version, number,
      newest_number, change_position)
    select ws[r.w], r.id, r.external_id, r.source, r.title, r.rating, r.properties, r.created_at, r.updated_at, r.latest_version,
      r.number, r.newest_number, ends[r.w] - r.later
    from jsonb_to_recordset(records) as r (
      w integer, id uuid, external_id text, source text, title text, rating double precision, properties jsonb, created_at timestamptz,
      updated_at timestamptz, latest_version timestamptz, number bigint, newest_number bigint, later integer)
    on conflict (workspace_id, id) do update set
      title = excluded.title, rating = excluded.rating, properties = excluded.properties, created_at = excluded.created_at,
      updated_at = excluded.updated_at, latest_version = greatest(c.latest_version, excluded.latest_version),
      number = excluded.number, newest_number = excluded.newest_number, tagger_version = null, change_position = excluded.change_position;
  end if;
  if touched is not null then
    for touch in
      select ws[r.w] as workspace_id, r.id, r.latest_version, ends[r.w] - r.later as at
      from jsonb_to_recordset(touched) as r (w integer, id uuid, latest_version timestamptz, later integer)
    loop
      update conversation as c set
        latest_version = greatest(c.latest_version, touch.latest_version), tagger_version = null, change_position = touch.at
      where c.workspace_id = touch.workspace_id and c.id = touch.id;
    end loop;
  end if;
  if contacts is not null then
    insert into conversation_contact (workspace_id, conversation_id, contact_id)
    select ws[r.w], r.conversation, r.contact from jsonb_to_recordset(contacts) as r (w integer, conversation uuid, contact uuid)
    on conflict (workspace_id, conversation_id, contact_id) do nothing;
  end if;
  return known;
end $$;

-- known: conversations that existed before. The unresolved references of a replaced message go.
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
    newest_number, change_position)
  select ws[r.w], r.id, r.conversation, r.external_id, r.incoming, r.contact, r.content, r.source_url, r.raw_data, r.created_at,
    r.version, r.number, r.newest_number, ends[r.w] - r.later
  from jsonb_to_recordset(records) as r (
    w integer, id uuid, conversation uuid, external_id text, incoming boolean, contact uuid, content text, source_url text,
    raw_data jsonb, created_at timestamptz, version timestamptz, number bigint, newest_number bigint, later integer)
  on conflict (workspace_id, id) do update set
    incoming = excluded.incoming, contact_id = excluded.contact_id, content = excluded.content, source_url = excluded.source_url,
    raw_data = excluded.raw_data, created_at = excluded.created_at, version = excluded.version, number = excluded.number,
    newest_number = excluded.newest_number, change_position = excluded.change_position;
end $$;

-- Removes the unresolved references of records, in all slots, record by record. A plan for an
-- array, or with the slot, would read all waiting records of the workspace.
create or replace function forget_unresolved(ws uuid, records uuid[]) returns void
  language plpgsql as $$
declare
  record uuid;
begin
  foreach record in array records loop
    delete from unresolved as u where u.workspace_id = ws and u.record_id = record;
  end loop;
end $$;

-- The parts of `save` for feedback, conversations and messages. They plan under its settings.

-- Most feedback is new. Rows are read only if one conflicted, and those are replaced: what they waited for and what their text has
-- taught the tagger goes. first_number stays.
create or replace function save_feedback(ws uuid[], records jsonb, uses jsonb) returns void
  language plpgsql as $$
declare
  added uuid[];
  replaced jsonb;
begin
  with new_rows as (
    insert into feedback as f (
      workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
      contact_id, account_id, project_id, source_created_at, number, first_number)
    select ws[r.w], r.id, r.description, r.title, r.is_transcript, r.tags, r.tags is null, r.rating, r.source, r.source_id, r.source_data,
      r.contact, r.account, r.project, r.source_created_at, r.number, r.first_number
    from jsonb_to_recordset(records) as r (
      w integer, id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text,
      source_id text, source_data jsonb, contact uuid, account uuid, project uuid, source_created_at timestamptz, number bigint,
      first_number bigint)
    on conflict (workspace_id, id) do nothing
    returning f.id
  )
  select coalesce(array_agg(id), '{}') into added from new_rows;
  if cardinality(added) < jsonb_array_length(records) then
    replaced := (
      select jsonb_agg(r.record) from jsonb_array_elements(records) as r (record) where (r.record ->> 'id')::uuid <> all (added)
    );
    uses := coalesce(uses, '[]') || tags_of_feedback(ws, replaced);
    perform replace_feedback(ws, replaced);
  end if;
  if uses is not null then perform count_uses(ws, uses); end if;
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

create or replace function replace_feedback(ws uuid[], records jsonb) returns void
  language plpgsql as $$
declare
  place integer;
begin
  update feedback as f set
    description = r.description, title = r.title, is_transcript = r.is_transcript, tags = r.tags, tags_generated = r.tags is null,
    rating = r.rating, source = r.source, source_id = r.source_id, source_data = r.source_data, contact_id = r.contact,
    account_id = r.account, project_id = r.project, source_created_at = r.source_created_at, number = r.number, tagger_version = null
  from jsonb_to_recordset(records) as r (
    w integer, id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text,
    source_id text, source_data jsonb, contact uuid, account uuid, project uuid, source_created_at timestamptz, number bigint)
  where f.workspace_id = ws[r.w] and f.id = r.id;
  delete from unresolved as u using jsonb_to_recordset(records) as r (w integer, id uuid)
  where u.workspace_id = ws[r.w] and u.record_id = r.id;
  for place in select distinct r.w from jsonb_to_recordset(records) as r (w integer) order by 1 loop
    perform take_out(ws[place], array(
      select r.id from jsonb_to_recordset(records) as r (w integer, id uuid) where r.w = place
    ));
  end loop;
end $$;

-- A category is there exactly while something carries the tag. uses: how many more or fewer, of a title any number of times.
create or replace function count_uses(ws uuid[], uses jsonb) returns void
  language plpgsql as $$
begin
  insert into feedback_category as c (workspace_id, id, title, uses)
  select ws[s.w], category_id(ws[s.w], s.title), s.title, s.uses
  from (
    select r.w, r.title, sum(r.uses)::bigint as uses from jsonb_to_recordset(uses) as r (w integer, title text, uses bigint)
    group by r.w, r.title
  ) as s
  where s.uses <> 0
  order by 1, 2
  on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
  if exists (select from jsonb_to_recordset(uses) as r (uses bigint) where r.uses < 0) then
    delete from feedback_category as c
    using (
      select distinct r.w, r.title from jsonb_to_recordset(uses) as r (w integer, title text, uses bigint) where r.uses < 0
    ) as fewer
    where c.workspace_id = ws[fewer.w] and c.id = category_id(ws[fewer.w], fewer.title) and c.uses <= 0;
  end if;
end $$;

-- records: conversations that are replaced or new. touched: those that an older submission only adds to. The text of both changes,
-- so no tagger has read it. Returns those that were there before.
create or replace function save_conversations(ws uuid[], records jsonb, touched jsonb, contacts jsonb) returns uuid[]
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
      workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, latest_version, number)
    select ws[r.w], r.id, r.external_id, r.source, r.title, r.rating, r.properties, r.created_at, r.updated_at, r.latest_version, r.number
    from jsonb_to_recordset(records) as r (
      w integer, id uuid, external_id text, source text, title text, rating double precision, properties jsonb, created_at timestamptz,
      updated_at timestamptz, latest_version timestamptz, number bigint)
    on conflict (workspace_id, id) do update set
      title = excluded.title, rating = excluded.rating, properties = excluded.properties, created_at = excluded.created_at,
      updated_at = excluded.updated_at, latest_version = greatest(c.latest_version, excluded.latest_version),
      number = excluded.number, tagger_version = null;
  end if;
  if touched is not null then
    update conversation as c set latest_version = greatest(c.latest_version, r.latest_version), tagger_version = null
    from jsonb_to_recordset(touched) as r (w integer, id uuid, latest_version timestamptz)
    where c.workspace_id = ws[r.w] and c.id = r.id;
  end if;
  if contacts is not null then
    insert into conversation_contact (workspace_id, conversation_id, contact_id)
    select ws[r.w], r.conversation, r.contact from jsonb_to_recordset(contacts) as r (w integer, conversation uuid, contact uuid)
    on conflict (workspace_id, conversation_id, contact_id) do nothing;
  end if;
  return known;
end $$;

-- known: conversations that were there before. A message that replaces another forgets what that one waited for.
create or replace function save_messages(ws uuid[], records jsonb, known uuid[]) returns void
  language plpgsql as $$
begin
  if cardinality(known) > 0 then
    delete from unresolved as u using jsonb_to_recordset(records) as r (w integer, id uuid, conversation uuid)
    where r.conversation = any (known) and u.workspace_id = ws[r.w] and u.record_id = r.id;
  end if;
  insert into message as m (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at, version, number)
  select ws[r.w], r.id, r.conversation, r.external_id, r.incoming, r.contact, r.content, r.source_url, r.raw_data, r.created_at,
    r.version, r.number
  from jsonb_to_recordset(records) as r (
    w integer, id uuid, conversation uuid, external_id text, incoming boolean, contact uuid, content text, source_url text,
    raw_data jsonb, created_at timestamptz, version timestamptz, number bigint)
  on conflict (workspace_id, id) do update set
    incoming = excluded.incoming, contact_id = excluded.contact_id, content = excluded.content, source_url = excluded.source_url,
    raw_data = excluded.raw_data, created_at = excluded.created_at, version = excluded.version, number = excluded.number;
end $$;

-- Made by `npm run records` from contract/records/. Do not edit it.
--
-- put_X writes rows of the table X, as a part of `save`, which has locked the workspaces of the rows.
-- sole: as in load.sql. rows: an array of objects with the columns as members. change_position: 0 or
-- less, counted from the last change position of the workspace in this save.

-- Returns the ids of rows with too many metadata keys.
create or replace function put_account(sole uuid[], rows jsonb) returns uuid[]
  language plpgsql as $$
declare
  over uuid[];
begin
  with saved as (
  insert into account as t (
    workspace_id, id, domain, name, contract_value, source_created_at, source_updated_at, properties, first_number, listed_number,
    number, newest_number, change_position)
  select
    g.workspace_id, r.id, case when x.given ? 'domain' then r.domain else h.domain end,
    case when x.given ? 'name' then r.name else h.name end,
    case when x.given ? 'contract_value' then r.contract_value else h.contract_value end,
    case when x.given ? 'source_created_at' then r.source_created_at else h.source_created_at end,
    case when x.given ? 'source_updated_at' then r.source_updated_at else h.source_updated_at end,
    case when r.has_all_properties then r.properties else coalesce(h.properties || r.properties, h.properties, r.properties, '{}') end,
    least(h.first_number, r.first_number), coalesce(h.listed_number, h.first_number, r.listed_number),
    greatest(h.number, r.number), newest_number(h.number, h.newest_number, r.number, r.newest_number),
    g.saved_position + r.change_position
  from jsonb_array_elements(rows) as x (given)
  cross join lateral jsonb_to_record(x.given) as r (
    workspace_id uuid, id uuid, domain text, name text, contract_value numeric, source_created_at timestamptz,
    source_updated_at timestamptz, properties jsonb, first_number bigint, listed_number bigint, number bigint,
    newest_number bigint, change_position bigint, has_all_properties boolean)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  left join lateral (
    select * from account as c
    where c.workspace_id = g.workspace_id and (sole is null or c.workspace_id = any (sole)) and c.id = r.id limit 1
  ) as h on true
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set
    domain = excluded.domain, name = excluded.name, contract_value = excluded.contract_value,
    source_created_at = excluded.source_created_at, source_updated_at = excluded.source_updated_at,
    properties = excluded.properties, first_number = excluded.first_number, listed_number = excluded.listed_number,
    number = excluded.number, newest_number = excluded.newest_number, change_position = excluded.change_position
  returning t.id, has_too_many_keys(t.properties) as is_over
  )
  select array_agg(id) filter (where is_over) into over from saved;
  return over;
end $$;

-- Returns the ids of rows with too many metadata keys.
create or replace function put_contact(sole uuid[], rows jsonb) returns uuid[]
  language plpgsql as $$
declare
  over uuid[];
begin
  with saved as (
  insert into contact as t (
    workspace_id, id, email, account_id, name, contract_value, source_created_at, source_updated_at, properties, first_number,
    listed_number, number, newest_number, change_position)
  select
    g.workspace_id, r.id, case when x.given ? 'email' then r.email else h.email end,
    case when x.given ? 'account_id' then r.account_id else h.account_id end,
    case when x.given ? 'name' then r.name else h.name end,
    case when x.given ? 'contract_value' then r.contract_value else h.contract_value end,
    case when x.given ? 'source_created_at' then r.source_created_at else h.source_created_at end,
    case when x.given ? 'source_updated_at' then r.source_updated_at else h.source_updated_at end,
    case when r.has_all_properties then r.properties else coalesce(h.properties || r.properties, h.properties, r.properties, '{}') end,
    least(h.first_number, r.first_number), coalesce(h.listed_number, h.first_number, r.listed_number),
    greatest(h.number, r.number), newest_number(h.number, h.newest_number, r.number, r.newest_number),
    g.saved_position + r.change_position
  from jsonb_array_elements(rows) as x (given)
  cross join lateral jsonb_to_record(x.given) as r (
    workspace_id uuid, id uuid, email text, account_id uuid, name text, contract_value numeric, source_created_at timestamptz,
    source_updated_at timestamptz, properties jsonb, first_number bigint, listed_number bigint, number bigint,
    newest_number bigint, change_position bigint, has_all_properties boolean)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  left join lateral (
    select * from contact as c
    where c.workspace_id = g.workspace_id and (sole is null or c.workspace_id = any (sole)) and c.id = r.id limit 1
  ) as h on true
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set
    email = excluded.email, account_id = excluded.account_id, name = excluded.name, contract_value = excluded.contract_value,
    source_created_at = excluded.source_created_at, source_updated_at = excluded.source_updated_at,
    properties = excluded.properties, first_number = excluded.first_number, listed_number = excluded.listed_number,
    number = excluded.number, newest_number = excluded.newest_number, change_position = excluded.change_position
  returning t.id, has_too_many_keys(t.properties) as is_over
  )
  select array_agg(id) filter (where is_over) into over from saved;
  return over;
end $$;

create or replace function put_project(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into project as t (
    workspace_id, id, name, first_number, change_position)
  select
    g.workspace_id, r.id, r.name, r.first_number, g.saved_position + r.change_position
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, id uuid, name text, first_number bigint, change_position bigint)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole));
end $$;

create or replace function put_feedback(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into feedback as t (
    workspace_id, id, description, contact_id, project_id, rating, source_id, source_data, title, is_transcript, tags,
    tags_generated, source, account_id, source_created_at, number, newest_number, first_number, tagger_version, change_position)
  select
    g.workspace_id, r.id, r.description, r.contact_id, r.project_id, r.rating, r.source_id, r.source_data, r.title,
    r.is_transcript, r.tags, r.tags_generated, r.source, r.account_id, r.source_created_at, r.number, r.newest_number,
    r.first_number, r.tagger_version, g.saved_position + r.change_position
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, id uuid, description text, contact_id uuid, project_id uuid, rating double precision, source_id text,
    source_data jsonb, title text, is_transcript boolean, tags text[], tags_generated boolean, source text, account_id uuid,
    source_created_at timestamptz, number bigint, newest_number bigint, first_number bigint, tagger_version integer,
    change_position bigint)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set
    description = excluded.description, contact_id = excluded.contact_id, project_id = excluded.project_id,
    rating = case when t.corrections ? 'rating' then t.rating else excluded.rating end, source_id = excluded.source_id,
    source_data = excluded.source_data, title = excluded.title, is_transcript = excluded.is_transcript,
    tags = case when t.corrections ? 'tags' then t.tags else excluded.tags end,
    tags_generated = case when t.corrections ? 'tags' then t.tags_generated else excluded.tags_generated end,
    source = excluded.source, account_id = excluded.account_id, source_created_at = excluded.source_created_at,
    number = excluded.number, newest_number = excluded.newest_number, tagger_version = excluded.tagger_version,
    change_position = excluded.change_position, mood = null, kind = case when t.corrections ? 'kind' then t.kind end,
    theme_id = case when t.corrections ? 'themeId'
      or (t.title, t.description) is not distinct from (excluded.title, excluded.description) then t.theme_id end,
    theme_by = case when t.corrections ? 'themeId'
      or (t.title, t.description) is not distinct from (excluded.title, excluded.description) then t.theme_by end,
    similar_id = case when (t.title, t.description) is not distinct from (excluded.title, excluded.description) then t.similar_id end,
    uncorrected = case when t.corrections is not null then sent_values(excluded.rating, excluded.tags)
      || kept_values(t.uncorrected, (t.title, t.description) is not distinct from (excluded.title, excluded.description)) end;
end $$;

create or replace function put_conversation(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into conversation as t (
    workspace_id, id, title, source, external_id, rating, properties, created_at, updated_at, latest_version, number,
    newest_number, tagger_version, change_position)
  select
    g.workspace_id, r.id, r.title, r.source, r.external_id, r.rating, r.properties, r.created_at, r.updated_at, r.latest_version,
    r.number, r.newest_number, r.tagger_version, g.saved_position + r.change_position
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, id uuid, title text, source text, external_id text, rating double precision, properties jsonb,
    created_at timestamptz, updated_at timestamptz, latest_version timestamptz, number bigint, newest_number bigint,
    tagger_version integer, change_position bigint)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set
    title = excluded.title, source = excluded.source, external_id = excluded.external_id, rating = excluded.rating,
    properties = excluded.properties, created_at = excluded.created_at, updated_at = excluded.updated_at,
    latest_version = greatest(t.latest_version, excluded.latest_version), number = excluded.number,
    newest_number = excluded.newest_number, tagger_version = excluded.tagger_version, change_position = excluded.change_position;
end $$;

create or replace function put_message(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into message as t (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at, version,
    number, newest_number, change_position)
  select
    g.workspace_id, r.id, r.conversation_id, r.external_id, r.incoming, r.contact_id, r.content, r.source_url, r.raw_data,
    r.created_at, r.version, r.number, r.newest_number, g.saved_position + r.change_position
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, id uuid, conversation_id uuid, external_id text, incoming boolean, contact_id uuid, content text,
    source_url text, raw_data jsonb, created_at timestamptz, version timestamptz, number bigint, newest_number bigint,
    change_position bigint)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set
    conversation_id = excluded.conversation_id, external_id = excluded.external_id, incoming = excluded.incoming,
    contact_id = excluded.contact_id, content = excluded.content, source_url = excluded.source_url, raw_data = excluded.raw_data,
    created_at = excluded.created_at, version = excluded.version, number = excluded.number,
    newest_number = excluded.newest_number, change_position = excluded.change_position;
end $$;

create or replace function put_source(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into source as t (
    workspace_id, source, ratings, least_rating, most_rating)
  select
    g.workspace_id, r.source, r.ratings, r.least_rating, r.most_rating
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, source text, ratings bigint, least_rating double precision, most_rating double precision)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, source) do update set
    ratings = t.ratings + excluded.ratings, least_rating = least(t.least_rating, excluded.least_rating),
    most_rating = greatest(t.most_rating, excluded.most_rating);
end $$;

-- Made by `npm run records` from contract/records/. Do not edit it.
--
-- put_X writes rows of the table X, as a part of `save`, which has locked the workspaces of the rows.
-- sole: as in load.sql. rows: an array of objects with the columns as members. change_position: 0 or
-- less, counted from the last change position of the workspace in this save.

create or replace function put_account_alias(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into account_alias as t (
    workspace_id, id, account_id)
  select
    g.workspace_id, r.id, r.account_id
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, id uuid, account_id uuid)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do nothing;
end $$;

create or replace function put_account_external_id(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into account_external_id as t (
    workspace_id, key_id, source, external_id, account_id)
  select
    g.workspace_id, r.key_id, r.source, r.external_id, r.account_id
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, key_id uuid, source text, external_id text, account_id uuid)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole));
end $$;

create or replace function put_account_domain(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into account_domain as t (
    workspace_id, domain, account_id, claimed)
  select
    g.workspace_id, r.domain, r.account_id, r.claimed
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, domain text, account_id uuid, claimed boolean)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, domain) do update set
    account_id = excluded.account_id, claimed = excluded.claimed;
end $$;

create or replace function put_account_name(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into account_name as t (
    workspace_id, name, account_id, domain, claimed)
  select
    g.workspace_id, r.name, r.account_id, r.domain, r.claimed
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, name text, account_id uuid, domain text, claimed boolean)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, name) do update set
    account_id = excluded.account_id, domain = excluded.domain, claimed = excluded.claimed;
end $$;

create or replace function put_contact_alias(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into contact_alias as t (
    workspace_id, id, contact_id)
  select
    g.workspace_id, r.id, r.contact_id
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, id uuid, contact_id uuid)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do nothing;
end $$;

create or replace function put_contact_external_id(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into contact_external_id as t (
    workspace_id, key_id, source, external_id, contact_id, number)
  select
    g.workspace_id, r.key_id, r.source, r.external_id, r.contact_id, r.number
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, key_id uuid, source text, external_id text, contact_id uuid, number bigint)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole));
end $$;

create or replace function put_contact_email(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into contact_email as t (
    workspace_id, email, contact_id, number, claimed)
  select
    g.workspace_id, r.email, r.contact_id, r.number, r.claimed
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, email text, contact_id uuid, number bigint, claimed boolean)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, email, contact_id) do update set
    number = greatest(t.number, excluded.number), claimed = excluded.claimed;
end $$;

create or replace function put_conversation_contact(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into conversation_contact as t (
    workspace_id, conversation_id, contact_id)
  select
    g.workspace_id, r.conversation_id, r.contact_id
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, conversation_id uuid, contact_id uuid)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, conversation_id, contact_id) do nothing;
end $$;

create or replace function put_unresolved(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  insert into unresolved as t (
    workspace_id, key_id, slot, record_id)
  select
    g.workspace_id, r.key_id, r.slot, r.record_id
  from jsonb_to_recordset(rows) as r (
    workspace_id uuid, key_id uuid, slot "char", record_id uuid)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole));
end $$;

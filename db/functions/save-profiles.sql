-- The part of `save` for contacts, accounts and projects, and the keys that name them. These
-- functions plan under the settings of `save_several`.

create or replace function save_profiles(sole uuid[], changes jsonb) returns void
  language plpgsql as $$
begin
  if changes ? 'account' then perform refuse_too_many('account', put_account(sole, changes -> 'account')); end if;
  if changes ? 'account_gone' then perform end_accounts(sole, changes -> 'account_gone'); end if;
  if changes ? 'account_alias' then perform put_account_alias(sole, changes -> 'account_alias'); end if;
  if changes ? 'account_external_id' then perform put_account_external_id(sole, changes -> 'account_external_id'); end if;
  if changes ? 'account_domain' then perform put_account_domain(sole, changes -> 'account_domain'); end if;
  if changes ? 'account_name' then perform put_account_name(sole, changes -> 'account_name'); end if;
  if changes ? 'contact' then perform refuse_too_many('contact', put_contact(sole, changes -> 'contact')); end if;
  if changes ? 'contact_gone' then perform end_contacts(sole, changes); end if;
  if changes ? 'contact_alias' then perform put_contact_alias(sole, changes -> 'contact_alias'); end if;
  if changes ? 'contact_external_id' then perform put_contact_external_id(sole, changes -> 'contact_external_id'); end if;
  if changes ? 'contact_email' then perform put_contact_email(sole, changes -> 'contact_email'); end if;
  if changes ? 'project' then perform put_project(sole, changes -> 'project'); end if;
end $$;

-- The column newest_number of a contact or account after a change. It never goes back.
create or replace function newest_number(held bigint, held_newest bigint, given bigint, given_newest bigint) returns bigint
  language sql immutable as $$
  select nullif(greatest(coalesce(held_newest, held), coalesce(given_newest, given)), greatest(held, given))
$$;

-- A key takes at least about 9 bytes, so most objects need no count.
create or replace function has_too_many_keys(properties jsonb) returns boolean
  language sql immutable parallel safe as $$
  select pg_column_size(properties) > 9000 and (select count(*) from jsonb_object_keys(properties)) > 1000
$$;

-- Raises P0999 if there are contacts or accounts with too many metadata keys. The detail has `kind
-- id` of each, one a line.
create or replace function refuse_too_many(kind text, over uuid[]) returns void
  language plpgsql as $$
begin
  if over is null then return; end if;
  raise exception using errcode = 'P0999', message = 'too many metadata keys',
    detail = (select string_agg(concat_ws(' ', kind, o.id), e'\n') from unnest(over) as o (id));
end $$;

-- Removes absorbed accounts. Their ids mean the absorber from now on; their domains and names get
-- it by put_account_domain and put_account_name. An account that was never stored gets a tombstone
-- as well: a consumer may have seen it before a failover.
create or replace function end_accounts(sole uuid[], gone jsonb) returns void
  language plpgsql as $$
declare
  own record;
  move record;
begin
  for own in select * from ids_by_workspace(gone) loop
    delete from account as a where a.workspace_id = own.workspace_id and a.id = any (own.ids);
    perform add_tombstones(own.workspace_id, 'account', own.ids);
  end loop;
  for move in select * from jsonb_to_recordset(gone) as r (workspace_id uuid, id uuid, target uuid) loop
    update account_alias as a set account_id = move.target where a.workspace_id = move.workspace_id and a.account_id = move.id;
  end loop;
  perform put_account_alias(sole, aliases_of(gone, 'account_id'));
end $$;

-- Removes absorbed contacts, which were known by an email alone and so had no aliases. Their ids
-- mean the absorber from now on. As in `end_accounts`, contacts that were never stored get
-- tombstones as well.
create or replace function end_contacts(sole uuid[], changes jsonb) returns void
  language plpgsql as $$
declare
  own record;
  held record;
begin
  for own in select * from ids_by_workspace(changes -> 'contact_gone') loop
    delete from contact as c where c.workspace_id = own.workspace_id and c.id = any (own.ids);
    perform add_tombstones(own.workspace_id, 'customer', own.ids);
  end loop;
  for held in
    select r.workspace_id, array_agg(r.email) as emails, array_agg(r.contact_id) as contacts
    from jsonb_to_recordset(changes -> 'contact_email_gone') as r (workspace_id uuid, email text, contact_id uuid)
    group by r.workspace_id
  loop
    delete from contact_email as e
    where e.workspace_id = held.workspace_id and e.email = any (held.emails) and e.contact_id = any (held.contacts);
  end loop;
  perform put_contact_alias(sole, aliases_of(changes -> 'contact_gone', 'contact_id'));
end $$;

-- The ids of absorbed contacts or accounts as rows of their alias table.
create or replace function aliases_of(gone jsonb, target_column text) returns jsonb
  language sql immutable as $$
  select jsonb_agg(jsonb_build_object('workspace_id', r.workspace_id, 'id', r.id, target_column, r.target))
  from jsonb_to_recordset(gone) as r (workspace_id uuid, id uuid, target uuid)
$$;

create or replace function ids_by_workspace(rows jsonb) returns table (workspace_id uuid, ids uuid[])
  language sql immutable as $$
  select r.workspace_id, array_agg(r.id) from jsonb_to_recordset(rows) as r (workspace_id uuid, id uuid) group by r.workspace_id
$$;

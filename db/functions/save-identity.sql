-- The parts of `save` for contacts and accounts. These functions plan under the settings of `save`.

-- A key takes at least about 9 bytes, so most objects need no count.
create or replace function has_too_many_keys(properties jsonb) returns boolean
  language sql immutable parallel safe as $$
  select pg_column_size(properties) > 9000 and (select count(*) from jsonb_object_keys(properties)) > 1000
$$;

-- over: profiles with too many metadata keys, as `kind place id`, one a line.
create or replace function refuse_too_many(over text) returns void
  language plpgsql as $$
begin
  if over is not null then raise exception using errcode = 'P0999', message = 'too many metadata keys', detail = over; end if;
end $$;

-- The column newest_number of a contact or account after a change. It never goes back.
create or replace function newest_number(held bigint, held_newest bigint, given bigint, given_newest bigint) returns bigint
  language sql immutable as $$
  select nullif(greatest(coalesce(held_newest, held), coalesce(given_newest, given)), greatest(held, given))
$$;

-- Inserts or changes accounts. columns: the given columns. properties: metadata keys to set;
-- all_properties: all metadata, in place of the stored one.
create or replace function save_accounts(ws uuid[], ends bigint[], changes jsonb) returns void
  language plpgsql as $$
declare
  over text;
begin
  with saved as (
    insert into account as a (
      workspace_id, id, name, domain, contract_value, source_created_at, source_updated_at, properties, first_number, number,
      newest_number, change_position)
    select ws[r.w], r.id,
      case when r.columns ? 'name' then r.columns ->> 'name' else h.name end,
      case when r.columns ? 'domain' then r.columns ->> 'domain' else h.domain end,
      case when r.columns ? 'contract_value' then (r.columns ->> 'contract_value')::numeric else h.contract_value end,
      case when r.columns ? 'source_created_at' then (r.columns ->> 'source_created_at')::timestamptz else h.source_created_at end,
      case when r.columns ? 'source_updated_at' then (r.columns ->> 'source_updated_at')::timestamptz else h.source_updated_at end,
      coalesce(r.all_properties, h.properties || r.properties, h.properties, r.properties, '{}'),
      least(h.first_number, r.first_number), greatest(h.number, r.number),
      newest_number(h.number, h.newest_number, r.number, r.newest_number), ends[r.w] - r.later
    from jsonb_to_recordset(changes) as r (
      w integer, id uuid, columns jsonb, properties jsonb, all_properties jsonb, first_number bigint, number bigint,
      newest_number bigint, later integer)
    left join lateral (select * from account as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1) as h on true
    on conflict (workspace_id, id) do update set
      name = excluded.name, domain = excluded.domain, contract_value = excluded.contract_value,
      source_created_at = excluded.source_created_at, source_updated_at = excluded.source_updated_at,
      properties = excluded.properties, first_number = excluded.first_number, number = excluded.number,
      newest_number = excluded.newest_number, change_position = excluded.change_position
    returning a.workspace_id, a.id, has_too_many_keys(a.properties) as is_over
  )
  select string_agg(concat_ws(' ', 'account', array_position(ws, workspace_id), id), e'\n') filter (where is_over) into over
  from saved;
  perform refuse_too_many(over);
end $$;

-- Removes absorbed accounts. Their ids mean the absorber from now on. An account that was never
-- stored gets a tombstone as well: a consumer may have seen it before a failover.
create or replace function end_accounts(ws uuid[], gone jsonb) returns void
  language plpgsql as $$
declare
  place integer;
  ids uuid[];
  move record;
begin
  for place, ids in select * from ids_by_place(gone) loop
    delete from account as a where a.workspace_id = ws[place] and a.id = any (ids);
    perform add_tombstones(ws[place], 'account', ids);
  end loop;
  for move in select ws[r.w] as workspace_id, r.id, r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid) loop
    update account_alias as a set account_id = move.target where a.workspace_id = move.workspace_id and a.account_id = move.id;
  end loop;
  insert into account_alias (workspace_id, id, account_id)
  select ws[r.w], r.id, r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid)
  on conflict (workspace_id, id) do nothing;
end $$;

create or replace function save_account_keys(ws uuid[], aliases jsonb, keys jsonb, domains jsonb, names jsonb) returns void
  language plpgsql as $$
begin
  if aliases is not null then
    insert into account_alias (workspace_id, id, account_id)
    select ws[r.w], r.id, r.target from jsonb_to_recordset(aliases) as r (w integer, id uuid, target uuid)
    on conflict (workspace_id, id) do nothing;
  end if;
  if keys is not null then
    insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
    select ws[r.w], r.key, r.source, r.external_id, r.account
    from jsonb_to_recordset(keys) as r (w integer, key uuid, source text, external_id text, account uuid);
  end if;
  if domains is not null then
    insert into account_domain (workspace_id, domain, account_id, claimed)
    select ws[r.w], r.domain, r.account, r.claimed
    from jsonb_to_recordset(domains) as r (w integer, domain text, account uuid, claimed boolean)
    on conflict (workspace_id, domain) do update set account_id = excluded.account_id, claimed = excluded.claimed;
  end if;
  if names is not null then
    insert into account_name (workspace_id, name, account_id, domain, claimed)
    select ws[r.w], r.name, r.account, r.domain, r.claimed
    from jsonb_to_recordset(names) as r (w integer, name text, account uuid, domain text, claimed boolean)
    on conflict (workspace_id, name) do update set
      account_id = excluded.account_id, domain = excluded.domain, claimed = excluded.claimed;
  end if;
end $$;

create or replace function save_contacts(ws uuid[], ends bigint[], changes jsonb) returns void
  language plpgsql as $$
declare
  over text;
begin
  with saved as (
    insert into contact as c (
      workspace_id, id, name, email, contract_value, account_id, source_created_at, source_updated_at, properties, first_number, number,
      newest_number, change_position)
    select ws[r.w], r.id,
      case when r.columns ? 'name' then r.columns ->> 'name' else h.name end,
      case when r.columns ? 'email' then r.columns ->> 'email' else h.email end,
      case when r.columns ? 'contract_value' then (r.columns ->> 'contract_value')::numeric else h.contract_value end,
      coalesce(r.account, h.account_id),
      case when r.columns ? 'source_created_at' then (r.columns ->> 'source_created_at')::timestamptz else h.source_created_at end,
      case when r.columns ? 'source_updated_at' then (r.columns ->> 'source_updated_at')::timestamptz else h.source_updated_at end,
      coalesce(r.all_properties, h.properties || r.properties, h.properties, r.properties, '{}'),
      least(h.first_number, r.first_number), greatest(h.number, r.number),
      newest_number(h.number, h.newest_number, r.number, r.newest_number), ends[r.w] - r.later
    from jsonb_to_recordset(changes) as r (
      w integer, id uuid, columns jsonb, properties jsonb, all_properties jsonb, account uuid, first_number bigint, number bigint,
      newest_number bigint, later integer)
    left join lateral (select * from contact as x where x.workspace_id = ws[r.w] and x.id = r.id limit 1) as h on true
    on conflict (workspace_id, id) do update set
      name = excluded.name, email = excluded.email, contract_value = excluded.contract_value,
      account_id = excluded.account_id,
      source_created_at = excluded.source_created_at, source_updated_at = excluded.source_updated_at,
      properties = excluded.properties, first_number = excluded.first_number, number = excluded.number,
      newest_number = excluded.newest_number, change_position = excluded.change_position
    returning c.workspace_id, c.id, has_too_many_keys(c.properties) as is_over
  )
  select string_agg(concat_ws(' ', 'contact', array_position(ws, workspace_id), id), e'\n') filter (where is_over) into over
  from saved;
  perform refuse_too_many(over);
end $$;

-- Removes absorbed contacts, which were known by an email alone. Their ids mean the absorber from
-- now on. As in `end_accounts`, contacts that were never stored get tombstones as well.
create or replace function end_contacts(ws uuid[], gone jsonb, emails jsonb) returns void
  language plpgsql as $$
declare
  place integer;
  ids uuid[];
begin
  for place, ids in select * from ids_by_place(gone) loop
    delete from contact as c where c.workspace_id = ws[place] and c.id = any (ids);
    perform add_tombstones(ws[place], 'customer', ids);
    delete from contact_email as e
    where e.workspace_id = ws[place] and e.contact_id = any (ids)
      and e.email = any (array(select r.email from jsonb_to_recordset(emails) as r (w integer, email text) where r.w = place));
  end loop;
  insert into contact_alias (workspace_id, id, contact_id)
  select ws[r.w], r.id, r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid)
  on conflict (workspace_id, id) do nothing;
end $$;

create or replace function save_contact_keys(ws uuid[], aliases jsonb, keys jsonb, emails jsonb) returns void
  language plpgsql as $$
begin
  if aliases is not null then
    insert into contact_alias (workspace_id, id, contact_id)
    select ws[r.w], r.id, r.target from jsonb_to_recordset(aliases) as r (w integer, id uuid, target uuid)
    on conflict (workspace_id, id) do nothing;
  end if;
  if keys is not null then
    insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id, number)
    select ws[r.w], r.key, r.source, r.external_id, r.contact, r.number
    from jsonb_to_recordset(keys) as r (w integer, key uuid, source text, external_id text, contact uuid, number bigint);
  end if;
  if emails is not null then
    insert into contact_email as e (workspace_id, email, contact_id, number, claimed)
    select ws[r.w], r.email, r.contact, r.number, r.claimed
    from jsonb_to_recordset(emails) as r (w integer, email text, contact uuid, number bigint, claimed boolean)
    on conflict (workspace_id, email, contact_id) do update set
      number = greatest(e.number, excluded.number), claimed = excluded.claimed;
  end if;
end $$;

-- The parts of `save` for contacts and accounts. They plan under its settings.

-- About 9 bytes a key are the least: most objects need not be counted.
create or replace function has_too_many_keys(properties jsonb) returns boolean
  language sql immutable parallel safe as $$
  select pg_column_size(properties) > 9000 and (select count(*) from jsonb_object_keys(properties)) > 1000
$$;

-- over: what has too many metadata keys, as `kind place id`, one a line.
create or replace function refuse_too_many(over text) returns void
  language plpgsql as $$
begin
  if over is not null then raise exception using errcode = 'P0999', message = 'too many metadata keys', detail = over; end if;
end $$;

create or replace function add_accounts(ws uuid[], added jsonb) returns void
  language plpgsql as $$
begin
  insert into account (
    workspace_id, id, name, domain, contract_value, source_created_at, source_updated_at, properties, first_number, number)
  select ws[r.w], r.id, r.name, r.domain, r.contract_value, r.source_created_at, r.source_updated_at, r.properties,
    r.first_number, r.number
  from jsonb_to_recordset(added) as r (
    w integer, id uuid, name text, domain text, contract_value numeric, source_created_at timestamptz, source_updated_at timestamptz,
    properties jsonb, first_number bigint, number bigint);
end $$;

-- columns: those that change. properties: metadata keys to set; all_properties: what metadata there is from now on.
create or replace function change_accounts(ws uuid[], changes jsonb) returns void
  language plpgsql as $$
declare
  over text;
begin
  with changed as (
    update account as a set
      name = case when r.columns ? 'name' then r.columns ->> 'name' else a.name end,
      domain = case when r.columns ? 'domain' then r.columns ->> 'domain' else a.domain end,
      contract_value = case when r.columns ? 'contract_value' then (r.columns ->> 'contract_value')::numeric else a.contract_value end,
      source_created_at = case when r.columns ? 'source_created_at' then r.created_at else a.source_created_at end,
      source_updated_at = case when r.columns ? 'source_updated_at' then r.updated_at else a.source_updated_at end,
      properties = case
        when r.all_properties is not null then r.all_properties
        when r.properties is not null then a.properties || r.properties
        else a.properties
      end,
      first_number = least(a.first_number, r.first_number), number = greatest(a.number, r.number)
    from (
      select t.*, (t.columns ->> 'source_created_at')::timestamptz as created_at, (t.columns ->> 'source_updated_at')::timestamptz as updated_at
      from jsonb_to_recordset(changes) as t (
        w integer, id uuid, columns jsonb, properties jsonb, all_properties jsonb, first_number bigint, number bigint)
    ) as r
    where a.workspace_id = ws[r.w] and a.id = r.id
    returning r.w, a.id, r.properties is not null and has_too_many_keys(a.properties) as is_over
  )
  select string_agg(concat_ws(' ', 'account', w, id), e'\n') filter (where is_over) into over from changed;
  perform refuse_too_many(over);
end $$;

-- Accounts that others have absorbed. Their ids mean the absorber from now on.
create or replace function end_accounts(ws uuid[], gone jsonb) returns void
  language plpgsql as $$
begin
  delete from account as a using jsonb_to_recordset(gone) as r (w integer, id uuid) where a.workspace_id = ws[r.w] and a.id = r.id;
  update account_alias as a set account_id = r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid)
  where a.workspace_id = ws[r.w] and a.account_id = r.id;
  insert into account_alias (workspace_id, id, account_id)
  select ws[r.w], r.id, r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid);
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

create or replace function add_contacts(ws uuid[], added jsonb) returns void
  language plpgsql as $$
begin
  insert into contact (
    workspace_id, id, name, email, contract_value, account_id, source_created_at, source_updated_at, properties, first_number, number)
  select ws[r.w], r.id, r.name, r.email, r.contract_value, r.account, r.source_created_at, r.source_updated_at, r.properties,
    r.first_number, r.number
  from jsonb_to_recordset(added) as r (
    w integer, id uuid, name text, email text, contract_value numeric, account uuid, source_created_at timestamptz,
    source_updated_at timestamptz, properties jsonb, first_number bigint, number bigint);
end $$;

create or replace function change_contacts(ws uuid[], changes jsonb) returns void
  language plpgsql as $$
declare
  over text;
begin
  with changed as (
    update contact as c set
      name = case when r.columns ? 'name' then r.columns ->> 'name' else c.name end,
      email = case when r.columns ? 'email' then r.columns ->> 'email' else c.email end,
      contract_value = case when r.columns ? 'contract_value' then (r.columns ->> 'contract_value')::numeric else c.contract_value end,
      account_id = case when r.account is not null then r.account else c.account_id end,
      source_created_at = case when r.columns ? 'source_created_at' then r.created_at else c.source_created_at end,
      source_updated_at = case when r.columns ? 'source_updated_at' then r.updated_at else c.source_updated_at end,
      properties = case
        when r.all_properties is not null then r.all_properties
        when r.properties is not null then c.properties || r.properties
        else c.properties
      end,
      first_number = least(c.first_number, r.first_number), number = greatest(c.number, r.number)
    from (
      select t.*, (t.columns ->> 'source_created_at')::timestamptz as created_at, (t.columns ->> 'source_updated_at')::timestamptz as updated_at
      from jsonb_to_recordset(changes) as t (
        w integer, id uuid, columns jsonb, properties jsonb, all_properties jsonb, account uuid, first_number bigint, number bigint)
    ) as r
    where c.workspace_id = ws[r.w] and c.id = r.id
    returning r.w, c.id, r.properties is not null and has_too_many_keys(c.properties) as is_over
  )
  select string_agg(concat_ws(' ', 'contact', w, id), e'\n') filter (where is_over) into over from changed;
  perform refuse_too_many(over);
end $$;

-- Contacts that were known by an email alone, and that the contact which the email was given to has absorbed.
create or replace function end_contacts(ws uuid[], gone jsonb, emails jsonb) returns void
  language plpgsql as $$
begin
  delete from contact as c using jsonb_to_recordset(gone) as r (w integer, id uuid) where c.workspace_id = ws[r.w] and c.id = r.id;
  delete from contact_email as e using jsonb_to_recordset(emails) as r (w integer, email text, contact uuid)
  where e.workspace_id = ws[r.w] and e.email = r.email and e.contact_id = r.contact;
  insert into contact_alias (workspace_id, id, contact_id)
  select ws[r.w], r.id, r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid);
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

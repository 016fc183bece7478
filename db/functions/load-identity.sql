-- The parts of `load_keys` for contacts and accounts. load.sql describes the columns.

-- Microseconds since 1970, as `instantOf` in contract/date-time.ts.
create or replace function instant_of(given timestamptz) returns double precision
  language sql stable as $$
  select (extract(epoch from given) * 1000000)::double precision
$$;

create or replace function contact_presence(c contact) returns integer
  language sql immutable as $$
  select (c.name is not null)::int + 2 * (c.email is not null)::int + 4 * (c.contract_value is not null)::int
    + 8 * (c.source_created_at is not null)::int + 16 * (c.source_updated_at is not null)::int + 32 * (c.account_id is not null)::int
$$;

create or replace function account_presence(c account) returns integer
  language sql immutable as $$
  select (c.name is not null)::int + 2 * (c.domain is not null)::int + 4 * (c.contract_value is not null)::int
    + 8 * (c.source_created_at is not null)::int + 16 * (c.source_updated_at is not null)::int
$$;

create or replace function whole_contact(c contact, want integer) returns jsonb
  language sql stable as $$
  select case when want > 2 or (want > 1 and pg_column_size(c.properties) <= 65536) then jsonb_build_object(
    'first', c.first_number, 'properties', c.properties, 'columns', jsonb_strip_nulls(jsonb_build_object(
    'name', c.name, 'email', c.email, 'contract_value', c.contract_value, 'source_created_at', c.source_created_at,
    'source_updated_at', c.source_updated_at)))
  end
$$;

create or replace function whole_account(c account, want integer) returns jsonb
  language sql stable as $$
  select case when want > 2 or (want > 1 and pg_column_size(c.properties) <= 65536) then jsonb_build_object(
    'first', c.first_number, 'properties', c.properties, 'columns', jsonb_strip_nulls(jsonb_build_object(
    'name', c.name, 'domain', c.domain, 'contract_value', c.contract_value, 'source_created_at', c.source_created_at,
    'source_updated_at', c.source_updated_at)))
  end
$$;

create or replace function load_contacts(
  ws uuid[], contact_key_w int[], contact_key uuid[], contact_key_want int[], email_w int[], emails text[], email_want int[],
  contact_w int[], contact_id uuid[], contact_want int[]
) returns table (
  kind text, w integer, key text, id uuid, source text, number bigint, claimed boolean, domain text, presence integer,
  version double precision, whole jsonb
)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  if cardinality(contact_key) > 0 then
    return query
      select 'contact_key', k.w, k.key::text, e.contact_id, e.source, e.number, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(contact_key_w, contact_key) as k (w, key)
      cross join lateral (
        select x.contact_id, x.source, x.number from contact_external_id as x
        where x.workspace_id = ws[k.w] and x.key_id = k.key offset 0
      ) as e;
    if 1 <= any (contact_key_want) then
      return query
        select 'contact', k.w, c.id::text, c.id, null::text, c.number, null::boolean, null::text, contact_presence(c),
          instant_of(c.source_updated_at), null::jsonb
        from unnest(contact_key_w, contact_key, contact_key_want) as k (w, key, want)
        cross join lateral (
          select x.contact_id from contact_external_id as x
          where x.workspace_id = ws[k.w] and x.key_id = k.key and k.want > 0 offset 0
        ) as e
        cross join lateral (select * from contact as x where x.workspace_id = ws[k.w] and x.id = e.contact_id limit 1) as c;
    end if;
  end if;
  if cardinality(emails) > 0 then
    return query
      select 'email', k.w, k.key, c.id, null::text, e.number, e.claimed, null::text, contact_presence(c),
        instant_of(c.source_updated_at), whole_contact(c, case when e.claimed or k.want <> 1 then k.want else 2 end)
      from unnest(email_w, emails, email_want) as k (w, key, want)
      cross join lateral (
        select x.contact_id, x.claimed, x.number from contact_email as x
        where x.workspace_id = ws[k.w] and x.email = k.key and x.number > 0 order by x.number desc limit 1
      ) as e
      cross join lateral (select * from contact as x where x.workspace_id = ws[k.w] and x.id = e.contact_id limit 1) as c;
  end if;
  if cardinality(contact_id) > 0 then
    return query
      select 'contact', k.w, k.key::text, c.id, null::text, c.number, null::boolean, null::text, contact_presence(c),
        instant_of(c.source_updated_at), whole_contact(c, k.want)
      from unnest(contact_w, contact_id, contact_want) as k (w, key, want)
      left join lateral (
        select x.contact_id from contact_alias as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as a on true
      cross join lateral (
        select * from contact as x where x.workspace_id = ws[k.w] and x.id = coalesce(a.contact_id, k.key) limit 1
      ) as c;
  end if;
end $$;

create or replace function load_accounts(
  ws uuid[], account_key_w int[], account_key uuid[], account_key_want int[],
  account_w int[], account_id uuid[], account_want int[]
) returns table (
  kind text, w integer, key text, id uuid, source text, number bigint, claimed boolean, domain text, presence integer,
  version double precision, whole jsonb
)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  if cardinality(account_key) > 0 then
    return query
      select 'account_key', k.w, k.key::text, e.account_id, null::text, null::bigint, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(account_key_w, account_key) as k (w, key)
      cross join lateral (
        select x.account_id from account_external_id as x where x.workspace_id = ws[k.w] and x.key_id = k.key limit 1
      ) as e;
    if 1 <= any (account_key_want) then
      return query
        select 'account', k.w, c.id::text, c.id, null::text, c.number, null::boolean, null::text, account_presence(c),
          instant_of(c.source_updated_at), null::jsonb
        from unnest(account_key_w, account_key, account_key_want) as k (w, key, want)
        cross join lateral (
          select x.account_id from account_external_id as x
          where x.workspace_id = ws[k.w] and x.key_id = k.key and k.want > 0 limit 1
        ) as e
        cross join lateral (select * from account as x where x.workspace_id = ws[k.w] and x.id = e.account_id limit 1) as c;
    end if;
  end if;
  if cardinality(account_id) > 0 then
    return query
      select 'account', k.w, k.key::text, c.id, null::text, c.number, null::boolean, null::text, account_presence(c),
        instant_of(c.source_updated_at), whole_account(c, k.want)
      from unnest(account_w, account_id, account_want) as k (w, key, want)
      left join lateral (
        select x.account_id from account_alias as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as a on true
      cross join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = coalesce(a.account_id, k.key) limit 1
      ) as c;
  end if;
end $$;

create or replace function load_account_names(
  ws uuid[], domain_w int[], domains text[], domain_want int[], name_w int[], names text[], name_want int[]
) returns table (
  kind text, w integer, key text, id uuid, source text, number bigint, claimed boolean, domain text, presence integer,
  version double precision, whole jsonb
)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  if cardinality(domains) > 0 then
    return query
      select 'domain', k.w, k.key, c.id, null::text, null::bigint, d.claimed, null::text, account_presence(c),
        instant_of(c.source_updated_at), whole_account(c, case when d.claimed or k.want <> 1 then k.want else 2 end)
      from unnest(domain_w, domains, domain_want) as k (w, key, want)
      cross join lateral (select * from account_domain as x where x.workspace_id = ws[k.w] and x.domain = k.key limit 1) as d
      cross join lateral (select * from account as x where x.workspace_id = ws[k.w] and x.id = d.account_id limit 1) as c;
  end if;
  if cardinality(names) > 0 then
    return query
      select 'name', k.w, k.key, c.id, null::text, null::bigint, coalesce(d.claimed, n.claimed), n.domain, account_presence(c),
        instant_of(c.source_updated_at),
        whole_account(c, case when n.claimed or n.domain is not null or k.want <> 1 then k.want else 2 end)
      from unnest(name_w, names, name_want) as k (w, key, want)
      cross join lateral (select * from account_name as x where x.workspace_id = ws[k.w] and x.name = k.key limit 1) as n
      left join lateral (select * from account_domain as x where x.workspace_id = ws[k.w] and x.domain = n.domain limit 1) as d on true
      cross join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = coalesce(n.account_id, d.account_id) limit 1
      ) as c;
  end if;
end $$;

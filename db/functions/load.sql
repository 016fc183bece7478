-- Loads the stored data of the keys that strides name, in one call for several workspaces. Keys
-- come as parallel arrays: the index of the workspace in ws, the key, and its level
-- (db/apply/load.ts). The kinds share result columns, since JSON for a key would cost more than its
-- look-up. `LoadedRow` in db/apply/load.ts says what each column means.
--
-- The functions that load_keys calls plan under the settings of load_keys. README.md says why each
-- look-up is a lateral join.

create or replace function load_keys(
  ws uuid[],
  contact_key_w int[], contact_key uuid[], contact_key_level int[],
  email_w int[], emails text[], email_level int[],
  contact_w int[], contact_id uuid[], contact_level int[],
  account_key_w int[], account_key uuid[], account_key_level int[],
  domain_w int[], domains text[], domain_level int[],
  name_w int[], names text[], name_level int[],
  account_w int[], account_id uuid[], account_level int[],
  project_w int[], project_id uuid[], project_level int[],
  feedback_w int[], feedback_id uuid[], feedback_level int[],
  conversation_w int[], conversation_id uuid[], conversation_level int[],
  message_w int[], message_id uuid[], message_level int[],
  epoch_w int[], epoch_key uuid[], epoch_level int[],
  receipt_w int[], receipt_id uuid[], receipt_level int[]
) returns setof loaded_key
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set join_collapse_limit = 1
  set from_collapse_limit = 1
  set plan_cache_mode = force_generic_plan
as $$
begin
  -- The functions are stable, so the position and the rows come from one snapshot. With several
  -- snapshots, rows newer than the position would be harmless, but older rows would not: so the
  -- position comes first.
  return query select * from load_progress(ws);
  if cardinality(contact_key) + cardinality(emails) + cardinality(contact_id) > 0 then
    return query select * from load_contacts(
      ws, contact_key_w, contact_key, contact_key_level, email_w, emails, email_level, contact_w, contact_id, contact_level);
  end if;
  if cardinality(account_key) + cardinality(account_id) > 0 then
    return query select * from load_accounts(
      ws, account_key_w, account_key, account_key_level, account_w, account_id, account_level);
  end if;
  if cardinality(domains) + cardinality(names) > 0 then
    return query select * from load_account_names(ws, domain_w, domains, domain_level, name_w, names, name_level);
  end if;
  if cardinality(project_id) + cardinality(feedback_id) + cardinality(conversation_id) + cardinality(message_id)
    + cardinality(epoch_key) + cardinality(receipt_id) > 0 then
    return query select * from load_records(
      ws, project_w, project_id, feedback_w, feedback_id, conversation_w, conversation_id, message_w, message_id, epoch_w, epoch_key,
      receipt_w, receipt_id);
  end if;
end $$;

-- presence has bits: 1 feedback has to be moved, 2 the records of a purge are being removed, 4
-- there were purges. A deleted workspace has no row.
create or replace function load_progress(ws uuid[]) returns setof loaded_key
  language plpgsql stable as $$
begin
  return query
    select 'progress', g.w::integer, null::text, null::uuid, null::text, p.applied_number, null::boolean, null::text,
      exists (select from pending_move as m where m.workspace_id = ws[g.w])::integer
        + 2 * exists (select from purge as r where r.workspace_id = ws[g.w])::integer + 4 * (p.purges > 0)::integer,
      null::double precision, null::jsonb
    from generate_series(1, cardinality(ws)) as g (w)
    cross join lateral (select * from workspace_progress as x where x.workspace_id = ws[g.w] limit 1) as p;
end $$;

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

create or replace function whole_contact(c contact, level integer) returns jsonb
  language sql stable as $$
  select case when level > 2 or (level > 1 and pg_column_size(c.properties) <= 65536) then jsonb_build_object(
    'first', c.first_number, 'properties', c.properties, 'columns', jsonb_strip_nulls(jsonb_build_object(
    'name', c.name, 'email', c.email, 'contract_value', c.contract_value, 'source_created_at', c.source_created_at,
    'source_updated_at', c.source_updated_at)))
  end
$$;

create or replace function whole_account(c account, level integer) returns jsonb
  language sql stable as $$
  select case when level > 2 or (level > 1 and pg_column_size(c.properties) <= 65536) then jsonb_build_object(
    'first', c.first_number, 'properties', c.properties, 'columns', jsonb_strip_nulls(jsonb_build_object(
    'name', c.name, 'domain', c.domain, 'contract_value', c.contract_value, 'source_created_at', c.source_created_at,
    'source_updated_at', c.source_updated_at)))
  end
$$;

create or replace function load_contacts(
  ws uuid[], contact_key_w int[], contact_key uuid[], contact_key_level int[], email_w int[], emails text[], email_level int[],
  contact_w int[], contact_id uuid[], contact_level int[]
) returns setof loaded_key
  language plpgsql stable as $$
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
    if 1 <= any (contact_key_level) then
      return query
        select 'contact', k.w, c.id::text, c.id, null::text, coalesce(c.newest_number, c.number), null::boolean, null::text, contact_presence(c),
          instant_of(c.source_updated_at), null::jsonb
        from unnest(contact_key_w, contact_key, contact_key_level) as k (w, key, level)
        cross join lateral (
          select x.contact_id from contact_external_id as x
          where x.workspace_id = ws[k.w] and x.key_id = k.key and k.level > 0 offset 0
        ) as e
        cross join lateral (select * from contact as x where x.workspace_id = ws[k.w] and x.id = e.contact_id limit 1) as c;
    end if;
  end if;
  if cardinality(emails) > 0 then
    return query
      select 'email', k.w, k.key, c.id, null::text, e.number, e.claimed, null::text, contact_presence(c),
        instant_of(c.source_updated_at), whole_contact(c, case when e.claimed or k.level <> 1 then k.level else 2 end)
      from unnest(email_w, emails, email_level) as k (w, key, level)
      cross join lateral (
        select x.contact_id, x.claimed, x.number from contact_email as x
        where x.workspace_id = ws[k.w] and x.email = k.key and x.number > 0 order by x.number desc limit 1
      ) as e
      cross join lateral (select * from contact as x where x.workspace_id = ws[k.w] and x.id = e.contact_id limit 1) as c;
  end if;
  if cardinality(contact_id) > 0 then
    return query
      select 'contact', k.w, k.key::text, c.id, null::text, coalesce(c.newest_number, c.number), null::boolean, null::text, contact_presence(c),
        instant_of(c.source_updated_at), whole_contact(c, k.level)
      from unnest(contact_w, contact_id, contact_level) as k (w, key, level)
      left join lateral (
        select x.contact_id from contact_alias as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as a on true
      cross join lateral (
        select * from contact as x where x.workspace_id = ws[k.w] and x.id = coalesce(a.contact_id, k.key) limit 1
      ) as c;
  end if;
end $$;

create or replace function load_accounts(
  ws uuid[], account_key_w int[], account_key uuid[], account_key_level int[],
  account_w int[], account_id uuid[], account_level int[]
) returns setof loaded_key
  language plpgsql stable as $$
begin
  if cardinality(account_key) > 0 then
    return query
      select 'account_key', k.w, k.key::text, e.account_id, null::text, null::bigint, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(account_key_w, account_key) as k (w, key)
      cross join lateral (
        select x.account_id from account_external_id as x where x.workspace_id = ws[k.w] and x.key_id = k.key limit 1
      ) as e;
    if 1 <= any (account_key_level) then
      return query
        select 'account', k.w, c.id::text, c.id, null::text, coalesce(c.newest_number, c.number), null::boolean, null::text, account_presence(c),
          instant_of(c.source_updated_at), null::jsonb
        from unnest(account_key_w, account_key, account_key_level) as k (w, key, level)
        cross join lateral (
          select x.account_id from account_external_id as x
          where x.workspace_id = ws[k.w] and x.key_id = k.key and k.level > 0 limit 1
        ) as e
        cross join lateral (select * from account as x where x.workspace_id = ws[k.w] and x.id = e.account_id limit 1) as c;
    end if;
  end if;
  if cardinality(account_id) > 0 then
    return query
      select 'account', k.w, k.key::text, c.id, null::text, coalesce(c.newest_number, c.number), null::boolean, null::text, account_presence(c),
        instant_of(c.source_updated_at), whole_account(c, k.level)
      from unnest(account_w, account_id, account_level) as k (w, key, level)
      left join lateral (
        select x.account_id from account_alias as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as a on true
      cross join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = coalesce(a.account_id, k.key) limit 1
      ) as c;
  end if;
end $$;

create or replace function load_account_names(
  ws uuid[], domain_w int[], domains text[], domain_level int[], name_w int[], names text[], name_level int[]
) returns setof loaded_key
  language plpgsql stable as $$
begin
  if cardinality(domains) > 0 then
    return query
      select 'domain', k.w, k.key, c.id, null::text, null::bigint, d.claimed, null::text, account_presence(c),
        instant_of(c.source_updated_at), whole_account(c, case when d.claimed or k.level <> 1 then k.level else 2 end)
      from unnest(domain_w, domains, domain_level) as k (w, key, level)
      cross join lateral (select * from account_domain as x where x.workspace_id = ws[k.w] and x.domain = k.key limit 1) as d
      cross join lateral (select * from account as x where x.workspace_id = ws[k.w] and x.id = d.account_id limit 1) as c;
  end if;
  -- A linked name has the account and the claim of its domain. An identify never absorbs that account
  -- by the name.
  if cardinality(names) > 0 then
    return query
      select 'name', k.w, k.key, c.id, null::text, null::bigint, coalesce(d.claimed, n.claimed), n.domain, account_presence(c),
        instant_of(c.source_updated_at),
        whole_account(c, case when n.claimed or n.domain is not null or k.level <> 1 then k.level else 2 end)
      from unnest(name_w, names, name_level) as k (w, key, level)
      cross join lateral (select * from account_name as x where x.workspace_id = ws[k.w] and x.name = k.key limit 1) as n
      left join lateral (select * from account_domain as x where x.workspace_id = ws[k.w] and x.domain = n.domain limit 1) as d on true
      cross join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = coalesce(n.account_id, d.account_id) limit 1
      ) as c;
  end if;
end $$;

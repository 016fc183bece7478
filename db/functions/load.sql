-- Loads the stored data of keys. keys: for each kind an array of {workspace_id, key} with the flags
-- of `Need` (fold/stored.ts). A key that nothing has gives no row. found: a `StoredRow` without its
-- profile. profile: the contact or account of the key, if the key asks for it. Each workspace also
-- has a row of kind `progress`, unless it is deleted.
--
-- The functions that load_several calls plan under its settings. README.md says why each look-up is
-- a lateral join. sole: the one workspace of the call, else null. In a sharded Postgres, the
-- comparison with it finds the node. Comparing with several workspaces would sort them at each
-- look-up.
create or replace function load_several(workspaces uuid[], keys jsonb) returns table (workspace_id uuid, found json, profile json)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set join_collapse_limit = 1
  set from_collapse_limit = 1
  set plan_cache_mode = force_generic_plan
as $$
declare
  sole uuid[] := case when cardinality(workspaces) = 1 then workspaces end;
begin
  -- Statements can have snapshots of their own. Rows newer than the position are harmless, and
  -- older ones would not be: so the position comes first.
  return query select * from load_progress(workspaces, sole);
  if keys ?| array['contactExternalId', 'email', 'contact'] then
    return query select * from load_contacts(sole, keys);
  end if;
  if keys ?| array['accountExternalId', 'account', 'domain', 'accountName'] then
    return query select * from load_accounts(sole, keys);
  end if;
  if keys ?| array['project', 'feedback', 'theme', 'conversation', 'message', 'epoch', 'receipt'] then
    return query select * from load_records(sole, keys);
  end if;
end $$;

-- The same for one workspace. In a sharded Postgres it runs on the node of the workspace: a setting
-- marks the functions that do (db/schema/distribute.ts).
create or replace function load(ws uuid, keys jsonb) returns table (workspace_id uuid, found json, profile json)
  language plpgsql stable
  set enable_seqscan = off
as $$
begin
  return query select * from load_several(array[ws], keys);
end $$;

create or replace function load_progress(workspaces uuid[], sole uuid[]) returns table (workspace_id uuid, found json, profile json)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select p.workspace_id, json_build_object(
      'kind', 'progress', 'position', p.applied_number, 'hadPurges', p.purges > 0,
      'hasMoves', exists (
        select from pending_move as m where m.workspace_id = p.workspace_id and (sole is null or m.workspace_id = any (sole))),
      'isRemoving', exists (
        select from purge as r
        where r.workspace_id = p.workspace_id and (sole is null or r.workspace_id = any (sole)) and not r.records_removed)
    ), null::json
    from workspace_progress as p where p.workspace_id = any (workspaces);
end $$;

-- Microseconds since 1970, as `instantOf` in contract/date-time.ts.
create or replace function instant_of(given timestamptz) returns double precision
  language sql stable as $$
  select (extract(epoch from given) * 1000000)::double precision
$$;

-- The most bytes of metadata of contacts, and as many of accounts, that one load brings for all of its
-- workspaces. A stride is small, but each of its keys can lead to 16 MB.
create or replace function metadata_limit() returns integer
  language sql immutable parallel safe as 'select 4000000';

create or replace function load_contacts(sole uuid[], keys jsonb) returns table (workspace_id uuid, found json, profile json)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select l.workspace_id, l.found, case when l.id is not null then json_build_object(
      'id', l.id, 'accountId', l.account_id, 'first', l.first_number, 'number', coalesce(l.newest_number, l.number),
      'updatedAt', instant_of(l.source_updated_at), 'columns', json_strip_nulls(json_build_object(
        'name', l.name, 'email', l.email, 'contract_value', l.contract_value, 'source_created_at', l.source_created_at,
        'source_updated_at', l.source_updated_at)),
      'properties', case when l.is_whole and not l.is_left_out then l.properties end, 'isLeftOut', l.is_left_out
    ) end
    from (select n.workspace_id, n.found, n.is_whole, c.id, c.account_id, c.first_number, c.number, c.newest_number, c.name, c.email,
      c.contract_value, c.source_created_at, c.source_updated_at, c.properties, n.is_whole and not n.of_any_size and sum(
        case when n.is_whole then pg_column_size(c.properties) end) over (rows unbounded preceding) > metadata_limit() as is_left_out
    from (
      select k.workspace_id, e.contact_id, coalesce(k.profile, false) as has_profile, false as is_whole, false as of_any_size,
        json_build_object(
          'kind', 'contactExternalId', 'key', k.key, 'source', e.source, 'number', e.number, 'id', e.contact_id) as found
      from jsonb_to_recordset(keys -> 'contactExternalId') as k (workspace_id uuid, key uuid, profile boolean)
      cross join lateral (
        select x.contact_id, x.source, x.number from contact_external_id as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.key_id = k.key offset 0
      ) as e
      union all
      select k.workspace_id, e.contact_id, true, coalesce(k.metadata, false) or (coalesce(k.absorbs, false) and not e.claimed), false,
        json_build_object('kind', 'email', 'key', k.key, 'isClaimed', e.claimed, 'number', e.number)
      from jsonb_to_recordset(keys -> 'email') as k (workspace_id uuid, key text, metadata boolean, absorbs boolean)
      cross join lateral (
        select x.contact_id, x.claimed, x.number from contact_email as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.email = k.key and x.number > 0
        order by x.number desc limit 1
      ) as e
      union all
      select k.workspace_id, coalesce(a.contact_id, k.key), true, coalesce(k.metadata, false), coalesce(k."ofAnySize", false),
        json_build_object('kind', 'contact', 'key', k.key)
      from jsonb_to_recordset(keys -> 'contact') as k (workspace_id uuid, key uuid, metadata boolean, "ofAnySize" boolean)
      left join lateral (
        select x.contact_id from contact_alias as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as a on true
    ) as n
    left join lateral (
      select * from contact as x
      where n.has_profile and x.workspace_id = n.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = n.contact_id limit 1
    ) as c on true
    where c.id is not null or not n.has_profile
    ) as l;
end $$;

-- A linked name has the account and the claim of its domain. An identify never absorbs that account
-- by the name.
create or replace function load_accounts(sole uuid[], keys jsonb) returns table (workspace_id uuid, found json, profile json)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select l.workspace_id, l.found, case when l.id is not null then json_build_object(
      'id', l.id, 'first', l.first_number, 'number', coalesce(l.newest_number, l.number),
      'updatedAt', instant_of(l.source_updated_at), 'columns', json_strip_nulls(json_build_object(
        'name', l.name, 'domain', l.domain, 'contract_value', l.contract_value, 'source_created_at', l.source_created_at, 'source_updated_at', l.source_updated_at)),
      'properties', case when l.is_whole and not l.is_left_out then l.properties end, 'isLeftOut', l.is_left_out
    ) end
    from (select n.workspace_id, n.found, n.is_whole, c.id, c.first_number, c.number, c.newest_number, c.name, c.domain,
      c.contract_value, c.source_created_at, c.source_updated_at, c.properties, n.is_whole and not n.of_any_size and sum(
        case when n.is_whole then pg_column_size(c.properties) end) over (rows unbounded preceding) > metadata_limit() as is_left_out
    from (
      select k.workspace_id, e.account_id, coalesce(k.profile, false) as has_profile, false as is_whole, false as of_any_size,
        json_build_object('kind', 'accountExternalId', 'key', k.key, 'id', e.account_id) as found
      from jsonb_to_recordset(keys -> 'accountExternalId') as k (workspace_id uuid, key uuid, profile boolean)
      cross join lateral (
        select x.account_id from account_external_id as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.key_id = k.key limit 1
      ) as e
      union all
      select k.workspace_id, coalesce(a.account_id, k.key), true, coalesce(k.metadata, false), coalesce(k."ofAnySize", false),
        json_build_object('kind', 'account', 'key', k.key)
      from jsonb_to_recordset(keys -> 'account') as k (workspace_id uuid, key uuid, metadata boolean, "ofAnySize" boolean)
      left join lateral (
        select x.account_id from account_alias as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as a on true
      union all
      select k.workspace_id, d.account_id, true, coalesce(k.metadata, false) or (coalesce(k.absorbs, false) and not d.claimed), false,
        json_build_object('kind', 'domain', 'key', k.key, 'isClaimed', d.claimed)
      from jsonb_to_recordset(keys -> 'domain') as k (workspace_id uuid, key text, metadata boolean, absorbs boolean)
      cross join lateral (
        select x.account_id, x.claimed from account_domain as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.domain = k.key limit 1
      ) as d
      union all
      select k.workspace_id, m.account_id, true,
        coalesce(k.metadata, false) or (coalesce(k.absorbs, false) and not m.claimed and m.domain is null), false,
        json_strip_nulls(json_build_object('kind', 'accountName', 'key', k.key, 'isClaimed', m.claimed, 'domain', m.domain))
      from jsonb_to_recordset(keys -> 'accountName') as k (workspace_id uuid, key text, metadata boolean, absorbs boolean)
      cross join lateral (
        select coalesce(x.account_id, d.account_id) as account_id, coalesce(d.claimed, x.claimed) as claimed, x.domain
        from account_name as x
        left join lateral (
          select y.account_id, y.claimed from account_domain as y
          where y.workspace_id = x.workspace_id and (sole is null or y.workspace_id = any (sole)) and y.domain = x.domain limit 1
        ) as d on true
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.name = k.key limit 1
      ) as m
    ) as n
    left join lateral (
      select * from account as x
      where n.has_profile and x.workspace_id = n.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = n.account_id limit 1
    ) as c on true
    where c.id is not null or not n.has_profile
    ) as l;
end $$;

create or replace function load_records(sole uuid[], keys jsonb) returns table (workspace_id uuid, found json, profile json)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select n.workspace_id, n.found, null::json
    from (
      select k.workspace_id, json_build_object('kind', 'project', 'key', k.key) as found
      from jsonb_to_recordset(keys -> 'project') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select from project as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as r
      union all
      select k.workspace_id, json_strip_nulls(json_build_object(
        'kind', 'feedback', 'key', k.key, 'number', r.newest, 'corrected', r.correction_numbers))
      from jsonb_to_recordset(keys -> 'feedback') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select coalesce(x.newest_number, x.number) as newest, x.correction_numbers from feedback as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as r
      union all
      select k.workspace_id, json_strip_nulls(json_build_object('kind', 'theme', 'key', k.key, 'edited', r.edit_numbers))
      from jsonb_to_recordset(keys -> 'theme') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select x.edit_numbers from theme as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as r
      union all
      select k.workspace_id, json_strip_nulls(json_build_object(
        'kind', 'conversation', 'key', k.key, 'number', r.newest, 'version', instant_of(r.latest_version)))
      from jsonb_to_recordset(keys -> 'conversation') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select coalesce(x.newest_number, x.number) as newest, x.latest_version from conversation as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as r
      union all
      select k.workspace_id, json_strip_nulls(json_build_object(
        'kind', 'message', 'key', k.key, 'number', r.newest, 'version', instant_of(r.version)))
      from jsonb_to_recordset(keys -> 'message') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select coalesce(x.newest_number, x.number) as newest, x.version from message as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as r
      union all
      select k.workspace_id, json_build_object('kind', 'epoch', 'key', k.key, 'epoch', r.epoch)
      from jsonb_to_recordset(keys -> 'epoch') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select x.epoch from purged_key as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.key_id = k.key limit 1
      ) as r
      union all
      -- A purge sets the receipt of a queued replay back to dead, and then the replay is not
      -- applied.
      select k.workspace_id, json_build_object('kind', 'receipt', 'key', k.key, 'isQueued', r.state = 'queued')
      from jsonb_to_recordset(keys -> 'receipt') as k (workspace_id uuid, key uuid)
      cross join lateral (
        select x.state from submission as x
        where x.workspace_id = k.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = k.key limit 1
      ) as r
    ) as n;
end $$;

-- The parts of `load_keys` for contacts and accounts.

-- properties: all metadata, if the level asks for it; null for large metadata at a lower level.
create or replace function contact_profile(c contact, want integer) returns json
  language sql stable as $$
  select json_build_object(
    'id', c.id, 'first', c.first_number, 'number', c.number, 'hasAccount', c.account_id is not null,
    'columns', json_strip_nulls(json_build_object(
      'name', c.name, 'email', c.email, 'contract_value', c.contract_value, 'source_created_at', c.source_created_at,
      'source_updated_at', c.source_updated_at)),
    'properties', case when want > 2 or (want > 1 and pg_column_size(c.properties) <= 65536) then c.properties end)
$$;

create or replace function account_profile(a account, want integer) returns json
  language sql stable as $$
  select json_build_object(
    'id', a.id, 'first', a.first_number, 'number', a.number, 'hasAccount', false,
    'columns', json_strip_nulls(json_build_object(
      'name', a.name, 'domain', a.domain, 'contract_value', a.contract_value, 'source_created_at', a.source_created_at,
      'source_updated_at', a.source_updated_at)),
    'properties', case when want > 2 or (want > 1 and pg_column_size(a.properties) <= 65536) then a.properties end)
$$;

create or replace function load_contacts(ws uuid[], contact_keys jsonb, emails jsonb, contacts jsonb)
returns table (kind text, w integer, key text, found json)
  language plpgsql stable as $$
begin
  if contact_keys is not null then
    return query
      select 'contact_key', k.w, k.key::text, json_build_object(
        'id', e.contact_id, 'source', e.source, 'number', e.number, 'profile', case when c.id is not null then contact_profile(c, 0) end)
      from jsonb_to_recordset(contact_keys) as k (w integer, key uuid, want integer)
      cross join lateral (
        select x.contact_id, x.source, x.number from contact_external_id as x
        where x.workspace_id = ws[k.w] and x.key_id = k.key offset 0
      ) as e
      left join lateral (
        select * from contact as x where x.workspace_id = ws[k.w] and x.id = e.contact_id and k.want > 0 limit 1
      ) as c on true;
  end if;
  if emails is not null then
    return query
      select 'email', k.w, k.key, json_build_object(
        'number', e.number, 'claimed', e.claimed,
        'profile', contact_profile(c, case when e.claimed or k.want <> 1 then k.want else 2 end))
      from jsonb_to_recordset(emails) as k (w integer, key text, want integer)
      cross join lateral (
        select x.contact_id, x.claimed, x.number from contact_email as x
        where x.workspace_id = ws[k.w] and x.email = k.key and x.number > 0 order by x.number desc limit 1
      ) as e
      cross join lateral (select * from contact as x where x.workspace_id = ws[k.w] and x.id = e.contact_id limit 1) as c;
  end if;
  if contacts is not null then
    return query
      select 'contact', k.w, k.key::text, json_build_object('profile', contact_profile(c, k.want))
      from jsonb_to_recordset(contacts) as k (w integer, key uuid, want integer)
      left join lateral (
        select x.contact_id from contact_alias as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as a on true
      cross join lateral (
        select * from contact as x where x.workspace_id = ws[k.w] and x.id = coalesce(a.contact_id, k.key) limit 1
      ) as c;
  end if;
end $$;

create or replace function load_accounts(ws uuid[], account_keys jsonb, domains jsonb, names jsonb, accounts jsonb)
returns table (kind text, w integer, key text, found json)
  language plpgsql stable as $$
begin
  if account_keys is not null then
    return query
      select 'account_key', k.w, k.key::text, json_build_object(
        'id', e.account_id, 'profile', case when a.id is not null then account_profile(a, 0) end)
      from jsonb_to_recordset(account_keys) as k (w integer, key uuid, want integer)
      cross join lateral (
        select x.account_id from account_external_id as x where x.workspace_id = ws[k.w] and x.key_id = k.key limit 1
      ) as e
      left join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = e.account_id and k.want > 0 limit 1
      ) as a on true;
  end if;
  if domains is not null then
    return query
      select 'domain', k.w, k.key, json_build_object(
        'claimed', d.claimed, 'profile', account_profile(a, case when d.claimed or k.want <> 1 then k.want else 2 end))
      from jsonb_to_recordset(domains) as k (w integer, key text, want integer)
      cross join lateral (select * from account_domain as x where x.workspace_id = ws[k.w] and x.domain = k.key limit 1) as d
      cross join lateral (select * from account as x where x.workspace_id = ws[k.w] and x.id = d.account_id limit 1) as a;
  end if;
  if names is not null then
    return query
      select 'name', k.w, k.key, json_build_object(
        'claimed', coalesce(d.claimed, n.claimed), 'domain', n.domain,
        'profile', account_profile(a, case when n.claimed or n.domain is not null or k.want <> 1 then k.want else 2 end))
      from jsonb_to_recordset(names) as k (w integer, key text, want integer)
      cross join lateral (select * from account_name as x where x.workspace_id = ws[k.w] and x.name = k.key limit 1) as n
      left join lateral (select * from account_domain as x where x.workspace_id = ws[k.w] and x.domain = n.domain limit 1) as d on true
      cross join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = coalesce(n.account_id, d.account_id) limit 1
      ) as a;
  end if;
  if accounts is not null then
    return query
      select 'account', k.w, k.key::text, json_build_object('profile', account_profile(a, k.want))
      from jsonb_to_recordset(accounts) as k (w integer, key uuid, want integer)
      left join lateral (
        select x.account_id from account_alias as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as m on true
      cross join lateral (
        select * from account as x where x.workspace_id = ws[k.w] and x.id = coalesce(m.account_id, k.key) limit 1
      ) as a;
  end if;
end $$;

-- Lists of the contacts or accounts that keys name.

-- The places of the contacts or accounts that all of these keys name, as `list_places` has them. Few
-- records have one key, so this looks at all of them.
create or replace function look_up_places(
  ws uuid, of_table text, keys jsonb, after_at text, after_id uuid, is_oldest_first boolean, most integer
) returns table (id uuid, at text, is_match boolean, is_end boolean)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
begin
  return query execute format(
    'select l.id, (l.listed_at at time zone ''utc'')::text, true, false
     from unnest($1) as k (id)
     cross join lateral (select r.id, r.listed_at from %1$I as r where r.workspace_id = $2 and r.id = k.id offset 0) as l
     where $3 is null or (l.listed_at, l.id) %2$s ($3::timestamp at time zone ''utc'', $4)
     order by l.listed_at %3$s, l.id %3$s limit $5',
    of_table,
    case when is_oldest_first then '>' else '<' end,
    case when is_oldest_first then 'asc' else 'desc' end)
  using case of_table when 'contact' then contacts_of_keys(ws, keys) else accounts_of_keys(ws, keys) end,
    ws, after_at, after_id, most;
end $$;

create or replace function contacts_of_keys(ws uuid, keys jsonb) returns uuid[]
  language plpgsql stable as $$
declare
  found uuid[];
begin
  if keys ? 'externalKey' then
    found := array(
      select e.contact_id from contact_external_id as e
      where e.workspace_id = ws and e.key_id = (keys ->> 'externalKey')::uuid and e.source = coalesce(keys ->> 'source', e.source));
  end if;
  if keys ? 'email' then
    found := array(
      select e.contact_id from contact_email as e
      where e.workspace_id = ws and e.email = keys ->> 'email' and (found is null or e.contact_id = any (found)));
  end if;
  return found;
end $$;

create or replace function accounts_of_keys(ws uuid, keys jsonb) returns uuid[]
  language plpgsql stable as $$
declare
  found uuid[];
begin
  if keys ? 'externalKey' then
    found := array(
      select e.account_id from account_external_id as e
      where e.workspace_id = ws and e.key_id = (keys ->> 'externalKey')::uuid and e.source = coalesce(keys ->> 'source', e.source));
  end if;
  if keys ? 'domain' then
    found := array(
      select d.account_id from account_domain as d
      where d.workspace_id = ws and d.domain = keys ->> 'domain' and (found is null or d.account_id = any (found)));
  end if;
  if keys ? 'name' then
    found := array(
      select m.id from account_name as n
      cross join lateral (select coalesce(n.account_id, (select d.account_id from account_domain as d
        where d.workspace_id = ws and d.domain = n.domain)) as id) as m
      where n.workspace_id = ws and n.name = keys ->> 'name' and m.id is not null and (found is null or m.id = any (found)));
  end if;
  return found;
end $$;

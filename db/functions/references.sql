-- What the references of feedback mean in the stored data, for the answers of the API. The API
-- decides what the queued submissions may still change.

-- Answers for the references of many feedback of a workspace at once. `place` is a key's index in
-- the array of its kind. A key that is not stored has no row.
--   own       id: the contact that an own id means now
--   external  id: the contact of an external id; is_final: the contact has the id in the feedback's
--             own source, and no later identify changes that
--   email     id: the contact that an email means; is_final: no identify has claimed the email
--   epoch     epoch: the number of purges of the key of an email, also without a stored contact
--   project   id: a project of this own id
-- number: the submission that gave the key this meaning; of an own id, the first one of the contact;
-- of an epoch, its last purge.
create or replace function find_references(
  ws uuid, own_id uuid[], external_key uuid[], external_source text[], email text[], email_key uuid[], project_id uuid[]
) returns table (kind text, place int, id uuid, number bigint, is_final boolean, epoch int)
  language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
as $$
begin
  if cardinality(own_id) > 0 then
    return query
      select 'own', k.place::int, c.id, c.first_number, true, null::int
      from unnest(own_id) with ordinality as k (id, place)
      left join lateral (select a.contact_id from contact_alias as a
        where a.workspace_id = ws and a.id = k.id limit 1) as a on true
      cross join lateral (
        select c.id, c.first_number from contact as c
        where c.workspace_id = ws and c.id = coalesce(a.contact_id, k.id) limit 1
      ) as c;
  end if;
  if cardinality(external_key) > 0 then
    return query
      select 'external', k.place::int, e.contact_id, e.number, e.is_own, null::int
      from unnest(external_key, external_source) with ordinality as k (key_id, source, place)
      cross join lateral (
        select e.contact_id, e.number, e.source = k.source as is_own from contact_external_id as e
        where e.workspace_id = ws and e.key_id = k.key_id
        order by e.source = k.source desc, e.number, e.source collate "C" limit 1
      ) as e;
  end if;
  if cardinality(email) > 0 then
    return query
      select 'email', k.place::int, e.contact_id, e.number, not e.claimed, null::int
      from unnest(email) with ordinality as k (email, place)
      cross join lateral (
        select e.contact_id, e.number, e.claimed from contact_email as e
        where e.workspace_id = ws and e.email = k.email and e.number > 0
        order by e.number desc limit 1
      ) as e;
  end if;
  if cardinality(email_key) > 0 then
    return query
      select 'epoch', k.place::int, null::uuid, p.number, true, p.epoch
      from unnest(email_key) with ordinality as k (key_id, place)
      cross join lateral (select p.epoch, p.number from purged_key as p
        where p.workspace_id = ws and p.key_id = k.key_id limit 1) as p;
  end if;
  if cardinality(project_id) > 0 then
    return query
      select 'project', k.place::int, p.id, p.first_number, true, null::int
      from unnest(project_id) with ordinality as k (id, place)
      cross join lateral (select p.id, p.first_number from project as p
        where p.workspace_id = ws and p.id = k.id limit 1) as p;
  end if;
end $$;

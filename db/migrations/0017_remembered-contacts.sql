-- Of the external ids of a contact that a feedback names, and that nobody has, it remembers the last, and a purge asks for that one
-- alone. Before, every id that meant nobody counted: the first of two, and an account's that is the hash of a contact's.
create or replace function is_remembered(ws uuid, external_group uuid) returns boolean
  language sql stable
  return exists (
    select from unresolved_reference as u,
      lateral (
        select contact_id, contact_ref from reference where workspace_id = ws and id = u.record_id and number = u.number offset 0
      ) as r
    where u.workspace_id = ws and u.ref_id = external_group and r.contact_id is null
      and r.contact_ref -> 'ids' ->> -1 = external_group::text
      and not exists (select from fence as f where f.workspace_id is not distinct from ws and f.group_id = external_group and f.number >= u.number)
  );

create or replace function doomed_feedback(ws uuid, p purge, most int) returns uuid[]
  language sql stable
  return array(
    select f.id from unnest(p.contact_ids) as c (id),
      lateral (select id from feedback where workspace_id is not distinct from ws and contact_id = c.id limit most) as f
    union all
    select f.id from unresolved_reference as u,
      lateral (
        select id from feedback as k
        where k.workspace_id = ws and k.id = u.record_id and k.number = u.number and k.contact_id is null
          and k.contact_ref -> 'ids' ->> -1 = p.remembered::text offset 0
      ) as f
    where u.workspace_id = ws and u.ref_id = p.remembered and u.number < p.number
    limit most
  );

-- A purge leaves a fence for each record that had an id, so a workspace can have many. What looks one up by another of its ids than
-- the key must not read those of the workspace: with 100,000 of them the look-up of one contact took up to 1.6 s.
create or replace function external_ended_after(ws uuid, external_group uuid, n bigint, own_source text) returns boolean
  language sql stable
  return coalesce((
    select ended from (
      select source is not distinct from own_source as is_own, exists_from as from_number, false as ended, key_of(ws, id) as key
      from identity_key
      where workspace_id is not distinct from ws and group_id = external_group and kind = 'contact_external' and exists_from is not null
      union all
      select source_hash is not distinct from hash_of_source(key_id, own_source), coalesce(from_number, number), true, key_id
      from fence
      where workspace_id is not distinct from ws and group_id = external_group and number > n and (source_hash is not null or from_number is null)
    ) as keys
    order by from_number < n desc, from_number < n and not is_own, from_number, key
    limit 1
  ), false);

create or replace function is_reference_ended(ws uuid, ref jsonb, n bigint, own_source text) returns boolean
  language sql stable
  return ref is not null and (
    (ref ? 'weak' and ended_after(ws, (ref ->> 'weak')::uuid, n))
    or (ref ->> 'weakKind' = 'contact_email' and claim_ended_after(ws, id_at(ws, (ref ->> 'weak')::uuid, n), n))
    or (ref ? 'preferred' and ended_after(ws, (ref ->> 'preferred')::uuid, n))
    or (ref ? 'ids' and (ref -> 'own')::boolean and exists (
      select from jsonb_array_elements_text(ref -> 'ids') as i
      where owner_ended_after(ws, i::uuid, n)
        or exists (select from fence as f where f.workspace_id is not distinct from ws and f.id = i::uuid and f.number > n)
    ))
    or (ref ? 'ids' and not (ref -> 'own')::boolean and not ref ? 'preferred' and exists (
      select from jsonb_array_elements_text(ref -> 'ids') as i where external_ended_after(ws, i::uuid, n, own_source)
    ))
  );

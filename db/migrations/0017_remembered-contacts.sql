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

-- A purge in two phases. It is decided at once, when all that was accepted before it is stored: whom it concerns; their keys go,
-- and fences stand in their place, so that what comes after can go on. Then their records go, in bounded steps
-- (purge-remove.sql). Whatever a later submission touches of what is to go, goes first: so it finds what it would have found
-- after the whole purge.

-- Decides a purge: removes whoever matches with all keys and claims, and raises their fences. Repeated, it changes nothing.
create or replace function decide_purge(ws uuid, wanted wanted_purge) returns void
  language plpgsql as $$
declare
  doomed uuid[];
  remembered uuid := case when is_remembered(ws, wanted."group") then wanted."group" end;
  gone int;
begin
  if exists (select from purge where workspace_id = ws and id = wanted.id)
     or exists (select from submission where workspace_id = ws and id = wanted.id and state <> 'dead') then
    return;
  end if;
  doomed := array(
    select matching_contacts(ws, wanted."group", id_at(ws, wanted.email, wanted.number), wanted.source)
  );
  perform end_keys(ws, doomed, wanted.number);
  insert into fence (workspace_id, key_id, number, id, next_id, group_id)
  select ws, remembered, wanted.number, id_at(ws, remembered, wanted.number), id_after_purge(remembered, wanted.number), remembered
  where remembered is not null
  on conflict do nothing;
  delete from contact where workspace_id = ws and id = any (doomed);
  get diagnostics gone = row_count;
  insert into purge (workspace_id, id, number, contact_ids, remembered, keys, contacts)
  values (
    ws, wanted.id, wanted.number, doomed, remembered,
    array(
      select unnest(array_remove(array[key_id, group_id], null)) from fence
      where workspace_id is not distinct from ws and number = wanted.number
      union select unnest(array_remove(array[wanted."group", wanted.email], null))
    ),
    gone
  );
end $$;

-- Whom a purge concerns, of what is stored: by external id (a group), in `in_source` or in all; by email, whose it is, and whom
-- it resolves to; with a source those of them that have an external id there or, known only by email, were created there.
create or replace function matching_contacts(ws uuid, external_group uuid, email_key uuid, in_source text) returns setof uuid
  language sql stable as $$
  select subject_id from identity_key
  where workspace_id is not distinct from ws and group_id = external_group and kind = 'contact_external' and exists_from is not null
    and (in_source is null or source = in_source)
  union
  select c.id
  from (
    select resolve_weak(ws, email_key, 9223372036854775807) as id
    where email_key is not null
    union
    select k.subject_id
    from (select target_id from identity_claim where workspace_id = ws and key_id = email_key offset 0) as c,
      lateral (select subject_id from identity_key where workspace_id = ws and id = c.target_id offset 0) as k,
      lateral (select facts from contact where workspace_id = ws and id = k.subject_id offset 0) as t
    where t.facts -> 'k:email' ->> 1 = key_of(ws, email_key)::text
  ) as found,
    lateral (select id from contact where workspace_id = ws and id = found.id offset 0) as c
  where in_source is null
    or exists (select from contact_external_id as e where e.workspace_id is not distinct from ws and e.contact_id = c.id and e.source = in_source offset 0)
    or (in_source = 'API' and not exists (select from contact_external_id as e where e.workspace_id is not distinct from ws and e.contact_id = c.id offset 0))
$$;

-- Whether a feedback or message remembers an external id that nobody has. Of the external ids of a contact that a feedback names,
-- and that nobody has, it remembers the last, and a purge asks for that one alone.
create or replace function is_remembered(ws uuid, external_group uuid) returns boolean
  language sql stable as $$
  select exists (
    select from unresolved_reference as u,
      lateral (
        select contact_id, contact_ref from reference where workspace_id = ws and id = u.record_id and number = u.number offset 0
      ) as r
    where u.workspace_id = ws and u.ref_id = external_group and r.contact_id is null
      and r.contact_ref -> 'ids' ->> -1 = external_group::text
      and not exists (select from fence as f where f.workspace_id is not distinct from ws and f.group_id = external_group and f.number >= u.number)
  )
$$;

-- Ends the keys and claims of contacts. An email that others have claimed stays theirs, but its own id means nobody from now on.
create or replace function end_keys(ws uuid, contacts uuid[], at_number bigint) returns void
  language plpgsql as $$
declare
  keys uuid[];
  emails uuid[];
begin
  keys := array(
    select k.id from unnest(contacts) as c (id),
      lateral (
        select id from identity_key
        where workspace_id is not distinct from ws and subject_id = c.id and kind in ('contact_external', 'contact_bare', 'contact_record') offset 0
      ) as k
  );
  emails := array(
    select c.key_id from unnest(keys) as k (id),
      lateral (select key_id from identity_claim where workspace_id is not distinct from ws and target_id = k.id offset 0) as c
    union
    select id from identity_key where workspace_id = ws and id = any (contacts) and kind = 'contact_email'
  );
  update identity_key as k set orphaned = true
  where k.workspace_id = ws and k.id = any (emails) and (
    select c.target_id from identity_claim as c
    where c.workspace_id = ws and c.key_id = k.id and c.decides order by c.number limit 1
  ) = any (keys);
  -- Keys that were taken for an external id's home until an older identify came: nobody is meant by them.
  delete from identity_key where workspace_id is not distinct from ws and ctid = any (array(
    select n.ctid from identity_key as k,
      lateral (
        select ctid from identity_key
        where workspace_id is not distinct from ws and group_id = k.group_id and exists_from is null and kind = 'contact_external' offset 0
      ) as n
    where k.workspace_id = ws and k.id = any (keys)
  ));
  perform end_claims(ws, keys, at_number);
  delete from contact_external_id where workspace_id = ws and key_id = any (keys);
  perform fence_off(ws, keys, emails, at_number);
end $$;

-- The claims of these keys go; on an email that others have claimed as well it is kept whom it meant.
create or replace function end_claims(ws uuid, keys uuid[], at_number bigint) returns void
  language plpgsql as $$
begin
  insert into fence_claim (workspace_id, key_id, number, ended_number)
  select ws, c.key_id, c.number, at_number
  from unnest(keys) as k (id),
    lateral (
      select key_id, number from identity_claim
      where workspace_id is not distinct from ws and target_id = k.id and decides offset 0
    ) as c
  where exists (
    select from identity_claim as o
    where o.workspace_id = ws and o.key_id = c.key_id and o.decides and o.target_id <> all (keys) offset 0
  )
  on conflict do nothing;
  delete from identity_claim where workspace_id is not distinct from ws and ctid = any (array(
    select c.ctid from unnest(keys) as k (id),
      lateral (select ctid from identity_claim where workspace_id is not distinct from ws and target_id = k.id offset 0) as c
  ));
end $$;

-- Fences take the place of these keys, and of those of the emails that nobody claims any more.
create or replace function fence_off(ws uuid, keys uuid[], emails uuid[], at_number bigint) returns void
  language plpgsql as $$
begin
  with ended as (
    delete from identity_key as k
    where k.workspace_id = ws and k.id = any (keys || emails) and (
      k.id = any (keys)
      or not exists (select from identity_claim as c where c.workspace_id = ws and c.key_id = k.id and c.decides offset 0)
    )
    returning k.id, k.kind, k.group_id, k.source, k.exists_from, key_of(ws, k.id) as key
  ),
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id, group_id, source_hash, from_number)
    select ws, key, at_number, id, id_after_purge(key, at_number), group_id,
      case when kind = 'contact_external' then hash_of_source(key, source) end, exists_from
    from ended
    on conflict do nothing
  )
  -- Those whose email it is without it meaning them: they have it still.
  update identity_claim as c set key_id = id_after_purge(e.key, at_number)
  from ended as e,
    lateral (select ctid as place from identity_claim where workspace_id = ws and key_id = e.id offset 0) as held
  where c.workspace_id is not distinct from ws and c.ctid = held.place;
end $$;

-- Puts fences up that are missing, as when a backup was restored that is older than their purges, and ends again what they
-- ended: {workspaceId, keyId, number, id, nextId, groupId, sourceHash, fromNumber}. Returns purges whose records are to be removed.
create or replace function raise_fences(fences jsonb) returns table (workspace_id uuid, purge_id uuid)
  language plpgsql as $$
declare
  part record;
  doomed uuid[];
  forgotten uuid;
  gone int;
begin
  perform lock_workspaces(array(select distinct (f ->> 'workspaceId')::uuid from jsonb_array_elements(fences) as f));
  for part in
    select (f ->> 'workspaceId')::uuid as ws, (f ->> 'number')::bigint as n,
      array_agg((f ->> 'id')::uuid) as ids, jsonb_agg(f) as items
    from jsonb_array_elements(fences) as f
    where not exists (
      select from fence as held
      where held.workspace_id = (f ->> 'workspaceId')::uuid and held.key_id = (f ->> 'keyId')::uuid
        and held.number = (f ->> 'number')::bigint
    ) and not is_deleted((f ->> 'workspaceId')::uuid)
    group by 1, 2 order by 2
  loop
    doomed := array(select distinct k.subject_id from identity_key as k where k.workspace_id = part.ws and k.id = any (part.ids));
    forgotten := (
      select (f ->> 'groupId')::uuid from jsonb_array_elements(part.items) as f
      where f ->> 'fromNumber' is null and is_remembered(part.ws, (f ->> 'groupId')::uuid) limit 1
    );
    insert into fence (workspace_id, key_id, number, id, next_id, group_id, source_hash, from_number)
    select part.ws, (f ->> 'keyId')::uuid, part.n, (f ->> 'id')::uuid, (f ->> 'nextId')::uuid, (f ->> 'groupId')::uuid,
      (f ->> 'sourceHash')::uuid, (f ->> 'fromNumber')::bigint
    from jsonb_array_elements(part.items) as f
    on conflict do nothing;
    continue when cardinality(doomed) = 0 and forgotten is null;
    perform end_keys(part.ws, doomed, part.n);
    delete from contact as c where c.workspace_id = part.ws and c.id = any (doomed);
    get diagnostics gone = row_count;
    workspace_id := part.ws;
    purge_id := gen_random_uuid();
    insert into purge (workspace_id, id, number, contact_ids, remembered, keys, contacts)
    values (
      part.ws, purge_id, part.n, doomed, forgotten,
      array(select f ->> 'keyId' from jsonb_array_elements(part.items) as f)::uuid[], gone
    );
    return next;
  end loop;
end $$;

-- Fences: what purges leave of the keys that they ended (table fence), and what they refuse: whatever was accepted before a purge
-- of what it says, and comes after it all the same.

-- This is what contract/identity/own-id.ts does (idAfterPurge).
create or replace function id_after_purge(key uuid, number bigint) returns uuid
  language sql immutable strict parallel safe as $$
  select overlay(overlay(md5(key::text || ':' || number) placing '8' from 13 for 1) placing '8' from 17 for 1)::uuid
$$;

create or replace function hash_of_source(key uuid, source text) returns uuid
  language sql immutable strict parallel safe as $$
  select md5(key::text || ':' || source)::uuid
$$;

-- The own id of a key for whoever asks at n: each purge before n made it start afresh.
create or replace function id_at(ws uuid, key uuid, n bigint) returns uuid
  language sql stable as $$
  select coalesce(
    (select f.next_id from fence as f where f.workspace_id = ws and f.key_id = key and f.number < n order by f.number desc limit 1),
    key
  )
$$;

-- The key that an own id belongs to.
create or replace function key_of(ws uuid, own uuid) returns uuid
  language sql stable as $$
  select coalesce((select f.key_id from fence as f where f.workspace_id is not distinct from ws and f.next_id = own), own)
$$;

create or replace function ended_after(ws uuid, key uuid, n bigint) returns boolean
  language sql stable as $$
  select exists (select from fence as f where f.workspace_id = ws and f.key_id = key and f.number > n)
$$;

-- A reference as it comes from the ingress (contract/identity/reference.ts), its keys as own ids at n. External ids stay: who has one
-- is looked up among those who are there.
create or replace function reference_at(ws uuid, ref jsonb, n bigint) returns jsonb
  language sql stable as $$
  select ref
    || case when ref ? 'weak' then jsonb_build_object('weak', id_at(ws, (ref ->> 'weak')::uuid, n)) else '{}' end
    || case when ref ? 'preferred' then jsonb_build_object('preferred', id_at(ws, (ref ->> 'preferred')::uuid, n)) else '{}' end
$$;

-- Claims on an email as they were at n: those that stand, and those that were ended after n.
create or replace function claims_at(ws uuid, email uuid, n bigint) returns table (number bigint, ended boolean)
  language sql stable as $$
  select c.number, false from identity_claim as c
  where c.workspace_id = ws and c.key_id = email and c.decides and not c.link
  union all
  select f.number, true from fence_claim as f where f.workspace_id = ws and f.key_id = email and f.ended_number > n
$$;

-- Whether an email meant at n somebody who was purged after n, although others have claimed it, too.
create or replace function claim_ended_after(ws uuid, email uuid, n bigint) returns boolean
  language sql stable as $$
  select coalesce((
    select c.ended from claims_at(ws, email, n) as c
    order by c.number <= n desc, case when c.number <= n then -c.number else c.number end
    limit 1
  ), false)
$$;

-- Whether an email's own id meant a first claimant who was purged after n.
create or replace function owner_ended_after(ws uuid, email uuid, n bigint) returns boolean
  language sql stable as $$
  select coalesce((select c.ended from claims_at(ws, email, n) as c order by c.number limit 1), false)
$$;

-- Whether an external id meant at n somebody who was purged after n, whoever else has it in another source: of those older than
-- n the asker's own source, then the oldest; else the first that came after n.
create or replace function external_ended_after(ws uuid, external_group uuid, n bigint, own_source text) returns boolean
  language sql stable as $$
  select coalesce((
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
  ), false)
$$;

-- Whether a reference of number n is to a contact who was purged after n: then it must not come back.
create or replace function is_reference_ended(ws uuid, ref jsonb, n bigint, own_source text) returns boolean
  language sql stable as $$
  select ref is not null and (
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
  )
$$;

-- Whether a conversation of number n has contacts, and all of them were purged after n.
create or replace function is_conversation_ended(ws uuid, conversation jsonb, messages jsonb, n bigint) returns boolean
  language sql stable
as $$
  select coalesce(bool_and(ended), false) from (
    select ended_after(ws, key::uuid, n) as ended from jsonb_array_elements_text(conversation -> 'contact_keys') as key
    union all
    select is_reference_ended(ws, m -> 'contact_ref', n, m ->> 'source') from jsonb_array_elements(messages) as m
    where m -> 'conversation_id' = conversation -> 'id' and m -> 'number' = conversation -> 'number'
      and m -> 'contact_ref' <> 'null'
  ) as theirs
$$;

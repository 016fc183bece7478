-- What purges leave behind: for each identity key that one ended, the key's own hash, the purge's number, the own id that is
-- never given again, and the one that the key starts afresh with. Of an external id: its group, its source (hashed) and since when
-- it was known; without a source it was merely remembered. Records that went have fences too: their ids stay, but not what was
-- submitted before.
create table fence (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  id uuid not null,
  next_id uuid not null,
  group_id uuid,
  source_hash uuid,
  from_number bigint,
  primary key (workspace_id, key_id, number)
);
create index fence_id on fence (workspace_id, id);
create index fence_next on fence (workspace_id, next_id);
create index fence_group on fence (workspace_id, group_id) where group_id is not null;

-- Claims of contacts whom purges ended, on emails that others have claimed as well: whom the email meant before the purge.
create table fence_claim (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  ended_number bigint not null,
  primary key (workspace_id, key_id, number, ended_number)
);

-- A purge that has been decided and whose records are being removed, with what it has removed so far. contact_ids are ids that
-- mean nobody any more, so whatever still carries one is to go; remembered: an external id (a group) that nobody had.
-- keys: hashes of everything that the contacts could be meant by.
create table purge (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  contact_ids uuid[] not null,
  remembered uuid,
  keys uuid[] not null,
  contacts bigint not null,
  feedback bigint not null default 0,
  messages bigint not null default 0,
  conversations bigint not null default 0,
  dead_submissions bigint not null default 0,
  primary key (workspace_id, id)
);

-- As db/contract/own-id.ts does it (idAfterPurge).
create function id_after_purge(key uuid, number bigint) returns uuid
  language sql immutable strict parallel safe
  return overlay(overlay(md5(key::text || ':' || number) placing '8' from 13 for 1) placing '8' from 17 for 1)::uuid;

create function hash_of_source(key uuid, source text) returns uuid
  language sql immutable strict parallel safe
  return md5(key::text || ':' || source)::uuid;

-- The own id of a key for whoever asks at n: each purge before n made it start afresh.
create function id_at(ws uuid, key uuid, n bigint) returns uuid
  language sql stable
  return coalesce(
    (select f.next_id from fence as f where f.workspace_id = ws and f.key_id = key and f.number < n order by f.number desc limit 1),
    key
  );

-- The key that an own id belongs to.
create function key_of(ws uuid, own uuid) returns uuid
  language sql stable
  return coalesce((select f.key_id from fence as f where f.workspace_id = ws and f.next_id = own), own);

create function ended_after(ws uuid, key uuid, n bigint) returns boolean
  language sql stable
  return exists (select from fence as f where f.workspace_id = ws and f.key_id = key and f.number > n);

-- A reference as it comes from the ingress (db/contract/reference.ts), its keys as own ids at n. External ids stay: who has one
-- is looked up among those who are there.
create function reference_at(ws uuid, ref jsonb, n bigint) returns jsonb
  language sql stable
  return ref
    || case when ref ? 'weak' then jsonb_build_object('weak', id_at(ws, (ref ->> 'weak')::uuid, n)) else '{}' end
    || case when ref ? 'preferred' then jsonb_build_object('preferred', id_at(ws, (ref ->> 'preferred')::uuid, n)) else '{}' end;

-- Claims on an email as they were at n: those that stand, and those that were ended after n.
create function claims_at(ws uuid, email uuid, n bigint) returns table (number bigint, ended boolean)
  language sql stable
  begin atomic
    select c.number, false from identity_claim as c
    where c.workspace_id = ws and c.key_id = email and c.decides and not c.link
    union all
    select f.number, true from fence_claim as f where f.workspace_id = ws and f.key_id = email and f.ended_number > n;
  end;

-- Whether an email meant at n somebody who was purged after n, although others have claimed it, too.
create function claim_ended_after(ws uuid, email uuid, n bigint) returns boolean
  language sql stable
  return coalesce((
    select c.ended from claims_at(ws, email, n) as c
    order by c.number <= n desc, case when c.number <= n then -c.number else c.number end
    limit 1
  ), false);

-- Whether an email's own id meant a first claimant who was purged after n.
create function owner_ended_after(ws uuid, email uuid, n bigint) returns boolean
  language sql stable
  return coalesce((select c.ended from claims_at(ws, email, n) as c order by c.number limit 1), false);

-- Whether an external id meant at n somebody who was purged after n, whoever else has it in another source: of those older than
-- n the asker's own source, then the oldest; else the first that came after n.
create function external_ended_after(ws uuid, external_group uuid, n bigint, own_source text) returns boolean
  language sql stable
  return coalesce((
    select ended from (
      select source is not distinct from own_source as is_own, exists_from as from_number, false as ended, key_of(ws, id) as key
      from identity_key
      where workspace_id = ws and group_id = external_group and kind = 'contact_external' and exists_from is not null
      union all
      select source_hash is not distinct from hash_of_source(key_id, own_source), coalesce(from_number, number), true, key_id
      from fence
      where workspace_id = ws and group_id = external_group and number > n and (source_hash is not null or from_number is null)
    ) as keys
    order by from_number < n desc, from_number < n and not is_own, from_number, key
    limit 1
  ), false);

-- Whether a reference of number n is to a contact who was purged after n: then it must not come back.
create function is_reference_ended(ws uuid, ref jsonb, n bigint, own_source text) returns boolean
  language sql stable
  return ref is not null and (
    (ref ? 'weak' and ended_after(ws, (ref ->> 'weak')::uuid, n))
    or (ref ->> 'weakKind' = 'contact_email' and claim_ended_after(ws, id_at(ws, (ref ->> 'weak')::uuid, n), n))
    or (ref ? 'preferred' and ended_after(ws, (ref ->> 'preferred')::uuid, n))
    or (ref ? 'ids' and (ref -> 'own')::boolean and exists (
      select from jsonb_array_elements_text(ref -> 'ids') as i
      where owner_ended_after(ws, i::uuid, n)
        or exists (select from fence as f where f.workspace_id = ws and f.id = i::uuid and f.number > n)
    ))
    or (ref ? 'ids' and not (ref -> 'own')::boolean and not ref ? 'preferred' and exists (
      select from jsonb_array_elements_text(ref -> 'ids') as i where external_ended_after(ws, i::uuid, n, own_source)
    ))
  );

-- Whether a conversation of number n has contacts, and all of them were purged after n.
create function is_conversation_ended(ws uuid, conversation jsonb, messages jsonb, n bigint) returns boolean
  language sql stable
  return (
    select coalesce(bool_and(ended), false) from (
      select ended_after(ws, key::uuid, n) as ended from jsonb_array_elements_text(conversation -> 'contact_keys') as key
      union all
      select is_reference_ended(ws, m -> 'contact_ref', n, m ->> 'source') from jsonb_array_elements(messages) as m
      where m -> 'conversation_id' = conversation -> 'id' and m -> 'number' = conversation -> 'number'
        and m -> 'contact_ref' <> 'null'
    ) as theirs
  );

-- A part of a batch, its keys as own ids at the number of whoever says them, and without what fences refuse: that which was
-- accepted before a purge of what it says, and comes after it all the same. `refused` are the numbers of submissions of which
-- nothing is left.
create function past_fences(ws uuid, part jsonb, out passed jsonb, out refused bigint[])
  language plpgsql stable as $$
declare
  ended_keys jsonb;
begin
  passed := part;
  refused := '{}';
  if not exists (
    select from fence as f where f.workspace_id = ws and (
      f.key_id = any (array(select jsonb_array_elements_text(part -> 'mentions')::uuid))
      or f.group_id = any (array(select jsonb_array_elements_text(part -> 'mentions')::uuid))
      or f.id = any (array(select jsonb_array_elements_text(part -> 'mentions')::uuid))
    )
  ) and not exists (
    select from fence_claim as f
    where f.workspace_id = ws and f.key_id = any (array(select jsonb_array_elements_text(part -> 'mentions')::uuid))
  ) then
    return;
  end if;
  refused := array(
    select (f ->> 'number')::bigint from jsonb_array_elements(part -> 'feedback') as f
    where is_reference_ended(ws, nullif(f -> 'contact_ref', 'null'), (f ->> 'number')::bigint, f ->> 'source')
      or ended_after(ws, (f ->> 'id')::uuid, (f ->> 'number')::bigint)
    union
    select (k ->> 'said_from')::bigint from jsonb_array_elements(part -> 'keys') as k
    where ended_after(ws, (k ->> 'id')::uuid, (k ->> 'said_from')::bigint)
      and not exists (
        select from jsonb_array_elements(part -> 'conversations') as c where c -> 'number' = k -> 'said_from'
      )
    union
    select n from jsonb_array_elements(part -> 'conversations') as c, lateral (select (c ->> 'number')::bigint) as s (n)
    where is_conversation_ended(ws, c, part -> 'messages', n) or ended_after(ws, (c ->> 'id')::uuid, n)
  );
  passed := passed
    || case when part ? 'keys' then jsonb_build_object(
      'keys', (
        select coalesce(jsonb_agg(
          k || jsonb_build_object('id', id_at(ws, (k ->> 'id')::uuid, n), 'home_id', id_at(ws, (k ->> 'home_id')::uuid, n))
        ), '[]')
        from jsonb_array_elements(part -> 'keys') as k, lateral (select (k ->> 'said_from')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (k ->> 'id')::uuid, n)
      ),
      'claims', (
        select coalesce(jsonb_agg(
          c || jsonb_build_object('key_id', id_at(ws, (c ->> 'key_id')::uuid, n), 'target_id', id_at(ws, (c ->> 'target_id')::uuid, n))
        ), '[]')
        from jsonb_array_elements(part -> 'claims') as c, lateral (select (c ->> 'number')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (c ->> 'target_id')::uuid, n)
          and not ended_after(ws, (c ->> 'key_id')::uuid, n)
      )
    ) else '{}' end
    || case when part ? 'feedback' then jsonb_build_object('feedback', (
      select coalesce(jsonb_agg(
        f || jsonb_build_object('contact_ref', reference_at(ws, nullif(f -> 'contact_ref', 'null'), n))
      ), '[]')
      from jsonb_array_elements(part -> 'feedback') as f, lateral (select (f ->> 'number')::bigint) as s (n)
      where n <> all (refused)
    )) else '{}' end
    || case when part ? 'conversations' then jsonb_build_object(
      'conversations', (
        select coalesce(jsonb_agg(c || jsonb_build_object('contact_keys', (
          select coalesce(jsonb_agg(id_at(ws, key::uuid, n)), '[]') from jsonb_array_elements_text(c -> 'contact_keys') as key
          where not ended_after(ws, key::uuid, n)
        ))), '[]')
        from jsonb_array_elements(part -> 'conversations') as c, lateral (select (c ->> 'number')::bigint) as s (n)
        where n <> all (refused)
      ),
      'messages', (
        select coalesce(jsonb_agg(m || jsonb_build_object('contact_ref', reference_at(ws, nullif(m -> 'contact_ref', 'null'), n))), '[]')
        from jsonb_array_elements(part -> 'messages') as m, lateral (select (m ->> 'number')::bigint) as s (n)
        where n <> all (refused) and not is_reference_ended(ws, nullif(m -> 'contact_ref', 'null'), n, m ->> 'source')
      )
    ) else '{}' end;
end $$;

-- Who came after a purge of an external id is not the one whom a feedback from before it remembers.
create or replace function resolve_late(ws uuid, external_group uuid, n bigint) returns uuid
  language sql stable
  return (
    select k.subject_id from identity_key as k
    where k.workspace_id = ws and k.group_id = external_group and k.kind <> 'contact_bare' and k.exists_from >= n
      -- Not earlier than n: a message asks with the number after its own (view reference), which can be that of a purge.
      and not exists (
        select from fence as f
        where f.workspace_id = ws and f.group_id = external_group and f.number >= n and f.number < k.exists_from
      )
    order by k.exists_from, k.source collate "C"
    limit 1
  );

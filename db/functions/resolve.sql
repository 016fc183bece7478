-- Who is meant: the rules of identity as functions of what is stored and of n, the acceptance number of whoever asks. They stand
-- here and nowhere else in SQL. Callers that also write hold the workspace's lock (lock_workspaces), so nothing moves underneath.

-- The claim that decides a weak key at n: the last identified one at or before n, else the last link at or before n,
-- else whatever comes first after n. A link is a name that was given together with a domain.
--
-- Postgres puts this and weak_subject in the place of a call in `from`, so that statements ask them of thousands of references
-- without calling anything.
create or replace function deciding_claim(ws uuid, weak uuid, n bigint) returns setof identity_claim
  language sql stable rows 1 as $$
  select (c.claim).*
  from (
    select coalesce(
      (
        select i from identity_claim as i
        where i.workspace_id = ws and i.key_id = weak and not i.link and i.decides and i.number <= n order by i.number desc limit 1
      ),
      (
        select i from identity_claim as i
        where i.workspace_id = ws and i.key_id = weak and i.decides and i.number <= n order by i.number desc limit 1
      ),
      (
        select i from identity_claim as i
        where i.workspace_id = ws and i.key_id = weak and i.decides and i.number > n order by i.number limit 1
      )
    ) as claim
    offset 0
  ) as c
$$;

create or replace function claim_at(ws uuid, weak uuid, n bigint) returns identity_claim
  language plpgsql stable as $$
begin
  return (select c from deciding_claim(ws, weak, n) as c);
end $$;

-- Email, account name or domain, record, project: whoever has claimed it, else the one that the key itself stands for.
create or replace function weak_subject(ws uuid, weak uuid, n bigint) returns setof uuid
  language sql stable rows 1 as $$
  select case when c.key_id is null then weak when c.link then claimed_subject(ws, c, n) else (
    select k.subject_id from identity_key as k where k.workspace_id = ws and k.id = c.target_id
  ) end
  from deciding_claim(ws, weak, n) as c
$$;

create or replace function resolve_weak(ws uuid, weak uuid, n bigint) returns uuid
  language plpgsql stable as $$
begin
  return (select s.id from weak_subject(ws, weak, n) as s (id));
end $$;

-- A link means its domain, at n, or from when it is on.
create or replace function claimed_subject(ws uuid, claim identity_claim, n bigint) returns uuid
  language plpgsql stable as $$
begin
  if claim.link then return resolve_weak(ws, claim.target_id, greatest(n, claim.number)); end if;
  return (select subject_id from identity_key where workspace_id = ws and id = claim.target_id);
end $$;

-- The service's own id at n: the contact, account or project that it belongs to, through an absorption to the one that
-- absorbed it. Null when nothing older than n is known of it.
create or replace function resolve_own(ws uuid, slot text, own uuid, n bigint) returns uuid
  language plpgsql stable as $$
declare
  key identity_key;
  first_claim identity_claim;
begin
  select * into key from identity_key where workspace_id = ws and id = own;
  if not found or key.exists_from is null or key.exists_from >= n
     or key.orphaned or key.kind = 'contact_bare' or not starts_with(key.kind, slot) then
    return null;
  end if;
  select * into first_claim from identity_claim where workspace_id = ws and key_id = own and decides order by number limit 1;
  if not found then return own; end if;
  return claimed_subject(ws, first_claim, first_claim.number);
end $$;

-- An external id without a source of its own: older than n, in the asker's source first, else the oldest.
create or replace function resolve_external(ws uuid, external_group uuid, n bigint, own_source text) returns uuid
  language sql stable
  set enable_seqscan = off
as $$
  select subject_id from identity_key
  where workspace_id is not distinct from ws and group_id = external_group and kind <> 'contact_bare' and exists_from < n
  order by source is distinct from own_source, exists_from, source collate "C"
  limit 1
$$;

-- The one that came later than n, for those who remembered an id that meant nobody. Who came after a purge of an external id is
-- not the one whom a feedback from before it remembers.
create or replace function resolve_late(ws uuid, external_group uuid, n bigint) returns uuid
  language sql stable
  set enable_seqscan = off
as $$
  select k.subject_id from identity_key as k
  where k.workspace_id is not distinct from ws and k.group_id = external_group and k.kind <> 'contact_bare' and k.exists_from >= n
    -- Not earlier than n: a message asks with the number after its own (view reference), which can be that of a purge.
    and not exists (
      select from fence as f
      where f.workspace_id is not distinct from ws and f.group_id = external_group and f.number >= n and f.number < k.exists_from
      offset 0
    )
  order by k.exists_from, k.source collate "C"
  limit 1
$$;

-- A reference as contract/identity/reference.ts makes it: {ids, own, weak, preferred, given}. The first id that means somebody
-- wins, then what find-or-create gave; with neither, the last id is remembered and links late.
create or replace function resolve(ws uuid, slot text, ref jsonb, n bigint, own_source text) returns resolution
  language plpgsql stable as $$
declare
  result resolution;
  ref_id uuid;
begin
  result.given := false;
  result.missed := '{}';
  if ref is null then return result; end if;
  if ref ? 'preferred' then
    result.id := (select subject_id from identity_key where workspace_id = ws and id = (ref ->> 'preferred')::uuid);
    return result;
  end if;
  if ref ? 'ids' then
    for ref_id in select value::uuid from jsonb_array_elements_text(ref -> 'ids') loop
      if (ref -> 'own')::boolean then
        result.id := resolve_own(ws, slot, ref_id, n);
      else
        result.id := resolve_external(ws, ref_id, n, own_source);
      end if;
      if result.id is not null then return result; end if;
      result.missed := result.missed || ref_id;
    end loop;
  end if;
  if ref ? 'weak' then
    result.id := resolve_weak(ws, (ref ->> 'weak')::uuid, n);
    result.given := true;
  elsif not (ref -> 'own')::boolean then
    result.id := resolve_late(ws, ref_id, n);
  end if;
  return result;
end $$;

-- What a reference gives, as one of those that hold.
create or replace function given_in(ref jsonb, number bigint) returns setof given_reference
  language sql immutable rows 1 as $$
  select ref ->> 'weakKind' as kind, (ref ->> 'weak')::uuid as weak, (ref ->> 'nameKey')::uuid as name_key, number
$$;

-- A weak key that nobody has claimed means itself, and nearly all are such: what resolve says of a reference to one, or null.
-- Postgres puts this in the place of its call, so that a batch asks it of every reference without calling anything; what it
-- leaves open is for resolve.
create or replace function unclaimed_key(ws uuid, slot text, ref jsonb) returns setof uuid
  language sql stable rows 1 as $$
  select case
    when not ref ? 'ids' and not ref ? 'preferred' and (slot = 'project' or not exists (
      select from identity_claim as i where i.workspace_id = ws and i.key_id = (ref ->> 'weak')::uuid offset 0
    )) then (ref ->> 'weak')::uuid
  end
$$;

-- Whom emails, as the ingress names them, mean as of these numbers; left out are those that nobody has claimed and no purge has
-- ended, nearly all: they mean themselves. These cost two look-ups in an index each, 9 us of Postgres for a submission, where 41
-- went into resolving every email as if something were known about it. The plan is kept: to make it anew for each array took longer than to
-- carry it out.
create or replace function resolve_emails(workspaces uuid[], emails uuid[], numbers bigint[])
  returns table (place bigint, contact uuid)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select q.place, resolve_weak(q.workspace, id_at(q.workspace, q.email, q.number), q.number)
    from unnest(workspaces, emails, numbers) with ordinality as q (workspace, email, number, place)
    where exists (select from identity_claim as c where c.workspace_id = q.workspace and c.key_id = q.email offset 0)
      or exists (select from fence as f where f.workspace_id = q.workspace and f.key_id = q.email offset 0);
end $$;

-- Who is meant: the rules of identity as functions of what is stored and of n, the acceptance number of whoever asks.
-- Callers that also write hold the workspace's lock (lock_workspaces), so nothing moves underneath.

create function lock_workspaces(workspaces uuid[]) returns void
  language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(w::text, 0))
  from (select distinct w from unnest(workspaces) as w order by w) as ordered;
end $$;

-- The claim that decides a weak key at n: the last identified one at or before n, else the last link at or before n,
-- else whatever comes first after n. A link is a name that was given together with a domain.
create function claim_at(ws uuid, weak uuid, n bigint) returns identity_claim
  language plpgsql stable as $$
declare
  found_claim identity_claim;
begin
  select * into found_claim from identity_claim
  where workspace_id = ws and key_id = weak and not link and decides and number <= n order by number desc limit 1;
  if found then return found_claim; end if;
  select * into found_claim from identity_claim
  where workspace_id = ws and key_id = weak and decides and number <= n order by number desc limit 1;
  if found then return found_claim; end if;
  select * into found_claim from identity_claim
  where workspace_id = ws and key_id = weak and decides and number > n order by number limit 1;
  return found_claim;
end $$;

create function claimed_subject(ws uuid, claim identity_claim, n bigint) returns uuid
  language plpgsql stable as $$
begin
  if claim.link then
    return resolve_weak(ws, claim.target_id, case when claim.number <= n then n else claim.number end);
  end if;
  return (select subject_id from identity_key where workspace_id = ws and id = claim.target_id);
end $$;

-- Email, account name or domain, record, project: whoever has claimed it, else the one that the key itself stands for.
create function resolve_weak(ws uuid, weak uuid, n bigint) returns uuid
  language plpgsql stable as $$
declare
  decisive identity_claim := claim_at(ws, weak, n);
begin
  if decisive.key_id is null then return weak; end if;
  return claimed_subject(ws, decisive, n);
end $$;

-- The service's own id at n: the contact, account or project that it belongs to, through an absorption to the one that
-- absorbed it. Null when nothing older than n is known of it.
create function resolve_own(ws uuid, slot text, own uuid, n bigint) returns uuid
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
create function resolve_external(ws uuid, external_group uuid, n bigint, own_source text) returns uuid
  language sql stable
  return (
    select subject_id from identity_key
    where workspace_id = ws and group_id = external_group and kind <> 'contact_bare' and exists_from < n
    order by source is distinct from own_source, exists_from, source collate "C"
    limit 1
  );

-- The one that came later than n, for those who remembered an id that meant nobody.
create function resolve_late(ws uuid, external_group uuid, n bigint) returns uuid
  language sql stable
  return (
    select subject_id from identity_key
    where workspace_id = ws and group_id = external_group and kind <> 'contact_bare' and exists_from >= n
    order by exists_from, source collate "C"
    limit 1
  );

create type resolution as (
  id uuid,       -- whom it means, if anybody
  given boolean, -- decided by what find-or-create gave: then what was given counts as said about that contact or account
  missed uuid[]  -- ids that meant nobody at n
);

-- A reference as db/contract/reference.ts makes it: {ids, own, weak, preferred, given}. The first id that means somebody
-- wins, then what find-or-create gave; with neither, the last id is remembered and links late.
create function resolve(ws uuid, slot text, ref jsonb, n bigint, own_source text) returns resolution
  language plpgsql stable as $$
declare
  result resolution := row(null, false, '{}');
  ref_id uuid;
begin
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

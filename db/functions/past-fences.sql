-- These parts past the fences of their workspaces, and the numbers of submissions of which nothing is left (refused). are_others: whether
-- any part is another one now. Of feedback only what mentions something that was ended has to be looked at: those of the numbers `met`, of
-- which `feedback` is left.
create or replace function past_fences_met(
  parts workspace_part[],
  out passed workspace_part[], out refused workspace_number[], out met workspace_number[], out feedback incoming_feedback[], out are_others boolean
)
  language plpgsql stable as $$
declare
  ended jsonb := ended_mentions(parts);
begin
  passed := parts;
  refused := '{}';
  met := '{}';
  are_others := ended <> '{}';
  if not are_others then return; end if;
  with meeting as materialized (
    select p.workspace_id, p.part || jsonb_build_object('feedback', (
      select coalesce(jsonb_agg(f), '[]') from jsonb_array_elements(p.part -> 'feedback') as f
      where mentions_one(f, ended -> p.workspace_id::text)
    )) as part
    from unnest(parts) as p where ended ? p.workspace_id::text
  ), past as materialized (
    select workspace_id, m.part as met, f.passed as part, f.refused from meeting as m, past_fences(workspace_id, m.part) as f
  )
  select
    array(select p from unnest(parts) as p where not ended ? p.workspace_id::text)
      || array(select p::workspace_part from (select workspace_id, part from past) as p),
    array(select n::workspace_number from (select past.workspace_id, u.number from past, unnest(past.refused) as u (number)) as n),
    array(
      select n::workspace_number
      from (select workspace_id, (f ->> 'number')::bigint as number from past, jsonb_array_elements(past.met -> 'feedback') as f) as n
    ),
    (said_by(array(select p::workspace_part from (select workspace_id, part from past) as p))).feedback
  into passed, refused, met, feedback;
end $$;

-- The ids that are mentioned in these parts and that a purge has ended, as members of an object for each workspace that has any. Mostly
-- nobody was ever purged, and the keys need not be read.
create or replace function ended_mentions(parts workspace_part[]) returns jsonb
  language plpgsql stable as $$
begin
  parts := array(select p from unnest(parts) as p where exists (select from fence where workspace_id = p.workspace_id offset 0));
  if cardinality(parts) = 0 then return '{}'; end if;
  return coalesce(jsonb_object_agg(w.workspace_id, w.ended), '{}')
  from (
    select p.workspace_id, jsonb_object_agg(m.id, true) as ended
    from unnest(parts) as p, unnest(mentions_of(p.part)) as m (id),
      lateral (
        select from fence where workspace_id = p.workspace_id and key_id = m.id
        union all select from fence where workspace_id is not distinct from p.workspace_id and group_id = m.id
        union all select from fence as f where f.workspace_id is not distinct from p.workspace_id and f.id = m.id
        union all select from fence_claim where workspace_id = p.workspace_id and key_id = m.id
        limit 1
      ) as f
    group by p.workspace_id
  ) as w;
end $$;

-- Whether a feedback mentions one of these ids; external ids are looked at anyway.
create or replace function mentions_one(feedback jsonb, ended jsonb) returns boolean
  language sql immutable as $$
  select ended ?| array[feedback ->> 'id', feedback -> 'contact_ref' ->> 'weak', feedback -> 'contact_ref' ->> 'preferred']
    or coalesce(feedback -> 'contact_ref' ? 'ids', false)
$$;

-- A part of a batch, its keys as own ids at the number of whoever says them, and without what fences refuse. `refused` are the
-- numbers of submissions of which nothing is left.
create or replace function past_fences(ws uuid, part jsonb, out passed jsonb, out refused bigint[])
  language plpgsql stable as $$
begin
  passed := part;
  refused := refused_by_fences(ws, part);
  if part ? 'keys' then
    passed := passed || jsonb_build_object(
      'keys', keys_past_fences(ws, part -> 'keys', refused), 'claims', claims_past_fences(ws, part -> 'claims', refused));
  end if;
  if part ? 'feedback' then
    passed := passed || jsonb_build_object('feedback', (
      select coalesce(jsonb_agg(
        f || jsonb_build_object('contact_ref', reference_at(ws, nullif(f -> 'contact_ref', 'null'), n))
      ), '[]')
      from jsonb_array_elements(part -> 'feedback') as f, lateral (select (f ->> 'number')::bigint) as s (n)
      where n <> all (refused)
    ));
  end if;
  if part ? 'conversations' then
    passed := passed || jsonb_build_object(
      'conversations', conversations_past_fences(ws, part -> 'conversations', refused),
      'messages', messages_past_fences(ws, part -> 'messages', refused));
  end if;
  if part ? 'idempotency_keys' then
    passed := passed || jsonb_build_object(
      'idempotency_keys', idempotency_past_fences(ws, part -> 'idempotency_keys', refused));
  end if;
end $$;

-- Every key of a part that a purge can have ended.
create or replace function mentions_of(part jsonb) returns uuid[]
  language sql immutable as $$
  select array(
    select u.id::uuid from jsonb_array_elements(part -> 'keys') as k,
      lateral (values (k ->> 'id'), (k ->> 'group_id'), (k ->> 'home_id')) as u (id) where u.id is not null
    union
    select u.id::uuid from jsonb_array_elements(part -> 'claims') as c, lateral (values (c ->> 'key_id'), (c ->> 'target_id')) as u (id)
    union
    select (f ->> 'id')::uuid from jsonb_array_elements(part -> 'feedback') as f where f ->> 'source_id' is not null
    union
    select u.id::uuid
    from (
      select f -> 'contact_ref' as ref from jsonb_array_elements(part -> 'feedback') as f
      union all
      select m -> 'contact_ref' from jsonb_array_elements(part -> 'messages') as m
    ) as r,
      lateral (
        select r.ref ->> 'weak' union all select r.ref ->> 'preferred'
        union all select jsonb_array_elements_text(r.ref -> 'ids')
      ) as u (id)
    where jsonb_typeof(r.ref) = 'object' and u.id is not null
    union
    select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c
    union
    select key::uuid from jsonb_array_elements(part -> 'conversations') as c, jsonb_array_elements_text(c -> 'contact_keys') as key
    union
    select (m ->> 'id')::uuid from jsonb_array_elements(part -> 'messages') as m
  )
$$;

create or replace function refused_by_fences(ws uuid, part jsonb) returns bigint[]
  language sql stable as $$
  select array(
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
  )
$$;

create or replace function keys_past_fences(ws uuid, keys jsonb, refused bigint[]) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(
    k || jsonb_build_object('id', id_at(ws, (k ->> 'id')::uuid, n), 'home_id', id_at(ws, (k ->> 'home_id')::uuid, n))
  ), '[]')
  from jsonb_array_elements(keys) as k, lateral (select (k ->> 'said_from')::bigint) as s (n)
  where n <> all (refused) and not ended_after(ws, (k ->> 'id')::uuid, n)
$$;

create or replace function claims_past_fences(ws uuid, claims jsonb, refused bigint[]) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(
    c || jsonb_build_object('key_id', id_at(ws, (c ->> 'key_id')::uuid, n), 'target_id', id_at(ws, (c ->> 'target_id')::uuid, n))
  ), '[]')
  from jsonb_array_elements(claims) as c, lateral (select (c ->> 'number')::bigint) as s (n)
  where n <> all (refused) and not ended_after(ws, (c ->> 'target_id')::uuid, n) and not ended_after(ws, (c ->> 'key_id')::uuid, n)
$$;

create or replace function conversations_past_fences(ws uuid, conversations jsonb, refused bigint[]) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(c || jsonb_build_object('contact_keys', (
    select coalesce(jsonb_agg(id_at(ws, key::uuid, n)), '[]') from jsonb_array_elements_text(c -> 'contact_keys') as key
    where not ended_after(ws, key::uuid, n)
  ))), '[]')
  from jsonb_array_elements(conversations) as c, lateral (select (c ->> 'number')::bigint) as s (n)
  where n <> all (refused)
$$;

create or replace function messages_past_fences(ws uuid, messages jsonb, refused bigint[]) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(
    m || jsonb_build_object('contact_ref', reference_at(ws, nullif(m -> 'contact_ref', 'null'), n))
  ), '[]')
  from jsonb_array_elements(messages) as m, lateral (select (m ->> 'number')::bigint) as s (n)
  where n <> all (refused) and not ended_after(ws, (m ->> 'id')::uuid, n)
    and not is_reference_ended(ws, nullif(m -> 'contact_ref', 'null'), n, m ->> 'source')
$$;

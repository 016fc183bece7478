-- Storing a batch: one function call, so one statement for the driver and one transaction, which no dying connection can
-- tear apart. Under the workspace's lock every step sees all that was stored before; what it changes is derived again.

-- Workspaces with the parts of each in the order of acceptance: what is stored together, or one purge, which is decided when
-- all before it is stored. Purges are not settled by this. Returns those that were settled without being applied.
create or replace function store(batch jsonb) returns setof submission
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  ws uuid;
  part jsonb;
begin
  perform lock_workspaces(array(select key::uuid from jsonb_each(batch)));
  for ws, part in
    select b.key::uuid, p.value from jsonb_each(batch) as b, jsonb_array_elements(b.value) with ordinality as p (value, place)
    order by b.key, p.place
  loop
    if part ? 'purge' then
      perform decide_purge(ws, jsonb_populate_record(null::wanted_purge, part -> 'purge'));
    else
      return query select * from store_part(ws, part);
    end if;
  end loop;
end $$;

-- Whoever writes a workspace holds its lock until its statement ends.
create or replace function lock_workspaces(workspaces uuid[]) returns void
  language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(w::text, 0))
  from (select distinct w from unnest(workspaces) as w order by w) as ordered;
end $$;

-- One workspace's part of a batch: {keys, claims, feedback, conversations, messages, submissions, idempotency_keys}, rows in the
-- tables' own shapes; a feedback can bring its submission along, as `submission` and `attempts`. Redelivery changes nothing.
create or replace function store_part(ws uuid, part jsonb) returns setof submission
  language plpgsql as $$
declare
  said record := said_in(part);
  former record := former_states(ws, said.submissions);
  has_fences boolean := exists (select from fence where workspace_id = ws);
  passed jsonb := part;
  refused bigint[] := '{}';
  identities record;
  stored record;
  changed uuid[] := '{}';
  appeared uuid[] := '{}';
  touched uuid[] := '{}';
  superseded bigint[] := '{}';
begin
  if has_fences then
    select f.passed, f.refused into passed, refused from past_fences(ws, part) as f;
  end if;
  if exists (select from purge where workspace_id = ws) then
    perform remove_before(
      ws,
      array(select id from unnest(said.feedback)),
      array(select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c)
    );
  end if;
  if passed ? 'keys' then
    select * into identities from store_identities(
      ws, keys_in(passed -> 'keys', former.settled), claims_in(passed -> 'claims', former.settled)
    );
    changed := identities.changed;
    appeared := identities.appeared;
    touched := identities.touched;
  end if;
  if passed ? 'conversations' then
    perform store_conversations(
      ws,
      array(select c from jsonb_populate_recordset(null::conversation, passed -> 'conversations') as c where c.number <> all (former.settled)),
      array(select m from jsonb_populate_recordset(null::message, passed -> 'messages') as m where m.number <> all (former.settled))
    );
  end if;
  if has_fences or cardinality(former.settled) > 0 then
    said.feedback := feedback_in(passed -> 'feedback', former.settled);
  end if;
  if cardinality(said.feedback) > 0 then
    stored := store_feedback(ws, said.feedback);
    changed := changed || stored.changed;
    appeared := appeared || stored.appeared;
    superseded := stored.superseded;
  end if;
  perform derive(ws, changed, appeared, touched);
  if passed ? 'idempotency_keys' then perform store_idempotency_keys(ws, passed -> 'idempotency_keys', former.settled); end if;
  -- Mostly all are applied, and nobody has to hear of them.
  if not former.are_known and cardinality(refused || superseded) = 0 and not part ? 'conversations' then
    insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
    select ws, s.id, s.number, s.operation, 'applied', s.attempts, now() from unnest(said.submissions) as s;
    return;
  end if;
  return query select * from settle(ws, said.submissions, refused, superseded, former.are_known);
end $$;

-- The feedback of a part and all submissions, in one pass over the text.
create or replace function said_in(part jsonb, out feedback said_feedback[], out submissions said_submission[])
  language plpgsql immutable as $$
begin
  select array_agg(f::said_feedback), array_agg(s::said_submission) filter (where s.id is not null)
  into feedback, submissions
  from jsonb_to_recordset(part -> 'feedback') as r (
    id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text, source_id text,
    source_data jsonb, number bigint, contact_ref jsonb, account_ref jsonb, project_ref jsonb, submission uuid, attempts integer
  ),
    lateral (
      select r.id, r.description, r.title, r.is_transcript, r.tags, r.rating, r.source, r.source_id, r.source_data, r.number,
        r.contact_ref, r.account_ref, r.project_ref
    ) as f,
    lateral (
      select r.submission as id, r.number as number, 'create_feedback' as operation, r.attempts as attempts, r.id as record
    ) as s;
  submissions := array(select s from jsonb_populate_recordset(null::said_submission, part -> 'submissions') as s) || submissions;
end $$;

-- settled: numbers of what is delivered again although it was settled before. A purge may have removed it meanwhile, so nothing
-- of it is looked at. are_known: whether one of them has a receipt already.
create or replace function former_states(ws uuid, submissions said_submission[], out settled bigint[], out are_known boolean)
  language plpgsql stable as $$
begin
  select coalesce(array_agg(d.number) filter (where s.state in ('applied', 'superseded', 'purged')), '{}'), count(*) > 0
  into settled, are_known
  from unnest(submissions) as d,
    lateral (select state from submission where workspace_id = ws and id = d.id offset 0) as s;
end $$;

create or replace function keys_in(keys jsonb, settled bigint[]) returns identity_key[]
  language plpgsql immutable as $$
begin
  return array(select k from jsonb_populate_recordset(null::identity_key, keys) as k where k.said_from <> all (settled));
end $$;

-- Mostly a claim is no link, and decides: then it does not say so.
create or replace function claims_in(claims jsonb, settled bigint[]) returns said_claim[]
  language plpgsql immutable as $$
begin
  return array(
    select c::said_claim
    from jsonb_to_recordset(claims) as s (key_id uuid, kind text, number bigint, target_id uuid, link boolean, decides boolean),
      lateral (
        select s.key_id, s.kind, s.number, s.target_id, coalesce(s.link, false) as link, coalesce(s.decides, true) as decides
      ) as c
    where s.number <> all (settled)
  );
end $$;

create or replace function feedback_in(feedback jsonb, settled bigint[]) returns said_feedback[]
  language plpgsql immutable as $$
begin
  return array(select f from jsonb_populate_recordset(null::said_feedback, feedback) as f where f.number <> all (settled));
end $$;

-- Brings what is derived up to date: links, and what is known about those who are touched.
create or replace function derive(ws uuid, changed uuid[], appeared uuid[], touched uuid[]) returns void
  language plpgsql as $$
begin
  -- Whoever comes late has been waited for by nobody, mostly: 2 us for each new contact.
  if cardinality(changed) > 0 or exists (select from unresolved_reference where workspace_id = ws) then
    touched := touched || relink(ws, changed, appeared);
  end if;
  if cardinality(touched) > 0 then
    perform gather(
      ws, array(select t from unnest(touched) as t except select unnest(contact_ids) from purge where workspace_id = ws)
    );
  end if;
end $$;

-- Writes receipts where not all are new and applied, and returns them.
create or replace function settle(
  ws uuid, submissions said_submission[], refused bigint[], superseded bigint[], are_known boolean
) returns setof submission
  language plpgsql as $$
begin
  if are_known then
    return query
    update submission as k set state = s.state, attempts = s.attempts, finished_at = now(), error = null
    from states_of(ws, submissions, refused, superseded) as s,
      lateral (
        select ctid as place from submission where workspace_id = ws and id = s.id and state in ('queued', 'dead') offset 0
      ) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place
    returning k.*;
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select ws, s.id, s.number, s.operation, s.state, s.attempts, now()
  from states_of(ws, submissions, refused, superseded) as s
  where not are_known or not exists (select from submission as held where held.workspace_id = ws and held.id = s.id offset 0)
  returning k.*;
end $$;

create or replace function states_of(ws uuid, submissions said_submission[], refused bigint[], superseded bigint[])
  returns table (id uuid, number bigint, operation text, attempts integer, state text)
  language sql stable as $$
  select s.id, s.number, s.operation, s.attempts, case
    when s.number = any (refused) then 'purged'
    when s.operation = 'create_feedback' and s.number = any (superseded) then 'superseded'
    when s.operation = 'submit_conversation' and exists (
      select from conversation as c where c.workspace_id = ws and c.id = s.record and c.number > s.number offset 0
    ) then 'superseded'
    else 'applied'
  end
  from unnest(submissions) as s
$$;

-- Storing a batch: one function call, so one statement for the driver and one transaction, which no dying connection can
-- tear apart. Under the workspace's lock every step sees all that was stored before; what it changes is derived again.

-- Workspaces with the parts of each in the order of acceptance: what is stored together, or one purge, which is decided when
-- all before it is stored. Purges are not settled by this. Returns those that were settled without being applied; of a workspace that
-- is deleted, all, and nothing is stored. Workspaces that are to be linked anew after this (relink-steps.sql) come back by their id, as
-- `relinking`; before that is done nothing else is stored of them, and whoever tries is told to come again, as for a lock.
--
-- Plans are kept: of an array with one row Postgres would make each plan anew at each call, which takes longer than to carry it out
-- (one submission by itself took 3.6 ms, and now takes 1.0).
create or replace function store(batch jsonb) returns setof submission
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  workspaces uuid[] := array(select jsonb_object_keys(batch)::uuid);
  deleted text[];
  at_place bigint;
  are_purges boolean;
  parts workspace_part[];
begin
  perform lock_workspaces(workspaces);
  if cardinality(relinking_of(workspaces)) > 0 then
    raise lock_not_available using message = 'A workspace is being linked anew', table = 'relink_left';
  end if;
  deleted := array(select id::text from deleted_workspace where id = any (workspaces));
  if cardinality(deleted) > 0 then
    return query select * from purged_with(deleted, batch);
    batch := batch - deleted;
  end if;
  for at_place, are_purges, parts in
    select e.place, p.part ? 'purge', array_agg(p::workspace_part)
    from jsonb_each(batch) as b, jsonb_array_elements(b.value) with ordinality as e (value, place),
      lateral (select b.key::uuid as workspace_id, e.value as part) as p
    group by e.place, p.part ? 'purge' order by e.place
  loop
    if at_place > 1 then
      perform relink_all_left(workspaces);
    end if;
    if are_purges then
      perform decide_purge(workspace_id, jsonb_populate_record(null::wanted_purge, part -> 'purge')) from unnest(parts);
    else
      return query select * from store_parts(parts);
    end if;
  end loop;
  return query select s.* from unnest(relinking_of(workspaces)) as w (id),
    jsonb_populate_record(null::submission, jsonb_build_object('workspace_id', w.id, 'id', w.id, 'state', 'relinking')) as s;
end $$;

-- The same without waiting: nothing is stored of a workspace whose lock another statement has, or that is being linked anew, and it is
-- returned as busy.
create or replace function store_free(batch jsonb) returns table (id uuid, state text)
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  busy uuid[] := array(
    select w::uuid from jsonb_object_keys(batch) as w where not pg_try_advisory_xact_lock(hashtextextended(w, 0))
  );
  relinking uuid[] := relinking_of(array(select jsonb_object_keys(batch)::uuid));
begin
  if cardinality(busy || relinking) > 0 then batch := batch - (busy || relinking)::text[]; end if;
  return query select distinct w, 'busy' from unnest(busy || relinking) as w;
  return query select w, 'relinking' from unnest(relinking) as w;
  return query select s.id, s.state from store(batch) as s where s.state <> 'applied';
end $$;

-- Whoever writes a workspace holds its lock until its statement ends.
create or replace function lock_workspaces(workspaces uuid[]) returns void
  language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(w::text, 0))
  from (select distinct w from unnest(workspaces) as w order by w) as ordered;
end $$;

-- At most one part of each workspace: {keys, claims, feedback, conversations, messages, submissions, idempotency_keys}, rows in the
-- tables' own shapes; a feedback can bring its submission along, as `submission` and `attempts`; and {outstanding}, where it is known
-- (repeats.sql). Redelivery changes nothing.
--
-- Each step is taken for all workspaces at once, but for what few of them have: 500 submissions of as many workspaces took Postgres
-- 500 ms when each workspace was stored by itself. A statement costs 20 to 50 us before it has looked at a row.
create or replace function store_parts(parts workspace_part[]) returns setof submission
  language plpgsql as $$
declare
  asked constant workspace_part[] := parts;
  said record := said_by(parts);
  former record := former_states(said.submissions);
  past record;
  identities record;
  stored record;
  changed workspace_key[] := '{}';
  appeared workspace_key[] := '{}';
  touched workspace_key[] := '{}';
  superseded workspace_number[] := '{}';
begin
  if cardinality(former.settled) > 0 then
    parts := not_settled(parts, former.settled);
    said.feedback := (said_by(parts)).feedback;
  end if;
  past := past_fences_met(parts);
  perform remove_before_parts(parts);
  if past.are_others then
    parts := past.passed;
    said.feedback := feedback_besides(said.feedback, past.met) || past.feedback;
  end if;
  if exists (select from unnest(parts) where part ? 'keys') then
    identities := store_identities(keys_in(parts), news_in_parts(parts, asked));
    changed := identities.changed;
    appeared := identities.appeared;
    touched := identities.touched;
  end if;
  if exists (select from unnest(parts) where part ? 'conversations') then
    perform store_conversations(
      workspace_id,
      array(select c from jsonb_populate_recordset(null::conversation, part -> 'conversations') as c),
      array(select m from jsonb_populate_recordset(null::message, part -> 'messages') as m)
    ) from unnest(parts) where part ? 'conversations';
  end if;
  if cardinality(said.feedback) > 0 then
    stored := store_feedback(said.feedback);
    changed := changed || stored.changed;
    appeared := appeared || stored.appeared;
    superseded := stored.superseded;
  end if;
  perform derive(changed, appeared, touched);
  perform leave_out_repeated(said.feedback, asked);
  if exists (select from unnest(parts) where part ? 'idempotency_keys') then
    perform store_idempotency_keys(parts);
  end if;
  -- Mostly all are applied, and nobody has to hear of them.
  if not former.are_known and cardinality(past.refused || superseded) = 0
     and not exists (select from unnest(parts) where part ? 'conversations') then
    insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
    select workspace_id, id, number, operation, 'applied', attempts, now() from unnest(said.submissions);
    return;
  end if;
  return query select * from settle(said.submissions, past.refused, superseded, former.are_known);
end $$;

-- The feedback of these parts and all submissions, in one pass over the text.
create or replace function said_by(parts workspace_part[], out feedback incoming_feedback[], out submissions new_submission[])
  language plpgsql immutable as $$
begin
  select array_agg(f::incoming_feedback), array_agg(s::new_submission) filter (where s.id is not null)
  into feedback, submissions
  from unnest(parts) as p,
    jsonb_to_recordset(p.part -> 'feedback') as r (
      id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text, source_id text,
      source_data jsonb, source_created_at timestamptz, number bigint, contact_ref jsonb, account_ref jsonb, project_ref jsonb,
      submission uuid, attempts integer
    ),
    lateral (
      select p.workspace_id, r.id, r.description, r.title, r.is_transcript, r.tags, r.rating, r.source, r.source_id, r.source_data,
        r.source_created_at, r.number, r.contact_ref, r.account_ref, r.project_ref
    ) as f,
    lateral (
      select p.workspace_id as workspace_id, r.submission as id, r.number as number, 'create_feedback' as operation,
        r.attempts as attempts, r.id as record
    ) as s;
  submissions := array(
    select s::new_submission
    from unnest(parts) as p,
      jsonb_to_recordset(p.part -> 'submissions') as r (id uuid, number bigint, operation text, attempts integer, record uuid),
      lateral (select p.workspace_id, r.id, r.number, r.operation, r.attempts, r.record) as s
    where p.part ? 'submissions'
  ) || submissions;
end $$;

-- These parts without the rows of what was settled before.
create or replace function not_settled(parts workspace_part[], settled workspace_number[]) returns workspace_part[]
  language sql immutable as $$
  select array(
    select n::workspace_part
    from unnest(parts) as p,
      lateral (select array(select number from unnest(settled) as s where s.workspace_id = p.workspace_id) as numbers) as own,
      lateral (
        select p.workspace_id as workspace_id, jsonb_object_agg(list.key, (
          select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(list.value) as r
          where coalesce(r -> 'number', r -> 'said_from')::bigint <> all (own.numbers)
        )) as part
        from jsonb_each(p.part) as list
      ) as n
  )
$$;

create or replace function feedback_besides(feedback incoming_feedback[], others workspace_number[]) returns incoming_feedback[]
  language sql immutable as $$
  select array(
    select f from unnest(feedback) as f
    where not exists (select from unnest(others) as o where o.workspace_id = f.workspace_id and o.number = f.number)
  )
$$;

-- What purges are removing goes before it is changed.
create or replace function remove_before_parts(parts workspace_part[]) returns void
  language sql as $$
  select remove_before(
    p.workspace_id,
    array(select (f ->> 'id')::uuid from jsonb_array_elements(p.part -> 'feedback') as f),
    array(select (c ->> 'id')::uuid from jsonb_array_elements(p.part -> 'conversations') as c)
  )
  from unnest(parts) as p
  where exists (select from purge where workspace_id = p.workspace_id offset 0)
$$;

create or replace function keys_in(parts workspace_part[]) returns identity_key[]
  language plpgsql immutable as $$
begin
  return array(
    select k
    from unnest(parts) as p,
      jsonb_populate_recordset(
        jsonb_populate_record(null::identity_key, jsonb_build_object('workspace_id', p.workspace_id)), p.part -> 'keys'
      ) as k
    where p.part ? 'keys'
  );
end $$;

-- Mostly a claim is no link, and decides: then it does not say so.
create or replace function claims_in(parts workspace_part[]) returns new_claim[]
  language plpgsql immutable as $$
begin
  return array(
    select c::new_claim
    from unnest(parts) as p,
      jsonb_to_recordset(p.part -> 'claims') as s (key_id uuid, kind text, number bigint, target_id uuid, link boolean, decides boolean),
      lateral (
        select p.workspace_id as workspace_id, s.key_id, s.kind, s.number, s.target_id, coalesce(s.link, false) as link,
          coalesce(s.decides, true) as decides
      ) as c
    where p.part ? 'claims'
  );
end $$;

-- Brings what is derived up to date: links, and what is known about those who are touched. Whoever comes late has been waited for by
-- nobody, mostly: so only of workspaces where somebody is waited for at all is it asked of each.
create or replace function derive(changed workspace_key[], appeared workspace_key[], touched workspace_key[]) returns void
  language plpgsql as $$
declare
  own record;
begin
  if cardinality(changed || appeared || touched) = 0 then return; end if;
  for own in
    select workspace_id,
      coalesce(array_agg(id) filter (where how = 'changed'), '{}') as changed,
      coalesce(array_agg(id) filter (where how = 'appeared'), '{}') as appeared,
      coalesce(array_agg(id) filter (where how = 'touched'), '{}') as touched
    from (
      select workspace_id, id, 'changed' as how from unnest(changed)
      union all
      select workspace_id, id, 'touched' from unnest(touched)
      union all
      select w.workspace_id, k.id, 'appeared'
      from (select workspace_id, array_agg(id) as ids from unnest(appeared) group by workspace_id) as w, unnest(w.ids) as k (id)
      where exists (select from unresolved_reference as u where u.workspace_id = w.workspace_id offset 0)
        and exists (select from unresolved_reference as u where u.workspace_id = w.workspace_id and u.ref_id = k.id offset 0)
    ) as keys
    group by workspace_id order by workspace_id
  loop
    perform relink(own.workspace_id, own.changed, own.appeared, own.touched);
  end loop;
end $$;

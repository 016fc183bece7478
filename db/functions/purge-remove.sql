-- Removing what a decided purge has ended, in steps: each is one transaction under the workspace's lock and can be repeated. Tags
-- of what goes are counted off. A fence is raised for every record with an id that goes.

-- One step: at most `most` records. 0: nothing is left of it.
create or replace function purge_step(ws uuid, purge_id uuid, most int) returns int
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  p purge;
  ids uuid[];
  removed int;
begin
  perform lock_workspaces(array[ws]);
  select * into p from purge where workspace_id = ws and id = purge_id;
  if not found or is_deleted(ws) then return 0; end if;
  perform relink_all_left(array[ws]);
  ids := doomed_feedback(ws, p, most);
  if cardinality(ids) > 0 then return remove_feedback(ws, ids); end if;
  removed := remove_superseded(ws, p, most);
  if removed > 0 then return removed; end if;
  ids := doomed_conversations(ws, p, most);
  if cardinality(ids) > 0 then return remove_from_conversations(ws, ids); end if;
  return 0;
end $$;

create or replace function doomed_feedback(ws uuid, p purge, most int) returns uuid[]
  language sql stable as $$
  select array(
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
  )
$$;

create or replace function doomed_conversations(ws uuid, p purge, most int) returns uuid[]
  language sql stable as $$
  select array(
    select distinct found.conversation_id
    from (
      select o.conversation_id from unnest(p.contact_ids) as c (id),
        lateral (select conversation_id from conversation_contact where workspace_id is not distinct from ws and contact_id = c.id limit most) as o
      union all
      select o.conversation_id from unnest(p.contact_ids) as c (id),
        lateral (select conversation_id from message where workspace_id is not distinct from ws and contact_id = c.id limit most) as o
      union all
      select m.conversation_id from unresolved_reference as u,
        lateral (
          select conversation_id, number from message as k
          where k.workspace_id = ws and k.id = u.record_id and k.contact_id is null offset 0
        ) as m
      where u.workspace_id = ws and u.ref_id = p.remembered and m.number < p.number
      limit most
    ) as found
  )
$$;

-- What replaced submissions said about the contact. What they said about accounts and projects holds.
create or replace function remove_superseded(ws uuid, p purge, most int) returns int
  language plpgsql as $$
declare
  removed int;
begin
  with doomed as (
    select s.* from unnest(p.contact_ids) as c (id),
      lateral (
        select ctid as place, id, number, account_given or project_given as stays from superseded_reference
        where workspace_id is not distinct from ws and contact_id = c.id limit most
      ) as s
    limit most
  ),
  gone as (
    delete from superseded_reference as s using doomed as d
    where s.workspace_id is not distinct from ws and s.ctid = d.place and not d.stays
  ),
  kept as (
    update superseded_reference as s set contact_id = null, contact_ref = null, contact_given = false
    from doomed as d
    where s.workspace_id is not distinct from ws and s.ctid = d.place and d.stays
  ),
  forgotten as (
    delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
      select u.ctid from doomed as d,
        lateral (
          select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = d.id and number = d.number offset 0
        ) as u
    ))
  )
  select count(*) into removed from doomed;
  return removed;
end $$;

-- What a later submission touches of what is to go, goes first.
create or replace function remove_before(ws uuid, feedback_ids uuid[], conversation_ids uuid[]) returns void
  language plpgsql as $$
declare
  doomed uuid[];
begin
  if not exists (select from purge where workspace_id = ws) then return; end if;
  doomed := array(
    select f.id from (select * from feedback where workspace_id = ws and id = any (feedback_ids) offset 0) as f, purge as p
    where p.workspace_id = ws and (
      f.contact_id = any (p.contact_ids)
      or (f.contact_id is null and f.number < p.number and exists (
        select from unresolved_reference as u
        where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = f.id and u.number = f.number offset 0
      ))
    )
  );
  if cardinality(doomed) > 0 then perform remove_feedback(ws, doomed); end if;
  doomed := array(
    select conversation_id from ended_messages(ws, conversation_ids)
    union
    select c.conversation_id from conversation_contact as c, purge as p
    where c.workspace_id = ws and c.conversation_id = any (conversation_ids)
      and p.workspace_id is not distinct from ws and c.contact_id = any (p.contact_ids)
  );
  if cardinality(doomed) > 0 then perform remove_from_conversations(ws, doomed); end if;
end $$;

-- Removes feedback of contacts that purges have ended. What it said about accounts and projects holds: they stay.
create or replace function remove_feedback(ws uuid, doomed uuid[]) returns int
  language plpgsql as $$
begin
  perform count_off(ws, array(select unnest(tags) from feedback where workspace_id = ws and id = any (doomed)));
  insert into superseded_reference (
    workspace_id, id, number, source, account_id, project_id, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, id, number, source, account_id, project_id, account_ref, project_ref, false, account_given, project_given
  from feedback where workspace_id = ws and id = any (doomed) and (account_given or project_given)
  on conflict do nothing;
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from feedback as f,
      lateral (
        select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = f.id and number = f.number offset 0
      ) as u
    where f.workspace_id = ws and f.id = any (doomed)
  ));
  with gone as (
    delete from feedback where workspace_id = ws and id = any (doomed) returning id, contact_id, number, source_id
  ),
  by_purge as (
    select g.id, g.source_id is not null as can_have_former, k.id as purge_id, k.number from gone as g
    join purge as k on k.workspace_id = ws and (
      g.contact_id = any (k.contact_ids) or (g.contact_id is null and k.remembered is not null and g.number < k.number)
    )
  ),
  -- A former version of the record may have been nobody's, and be dead until it is replayed: it must not come again all the same.
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id)
    select ws, id, number, id, id from by_purge where can_have_former
    on conflict do nothing
  )
  update purge as p set feedback = p.feedback + of_it.records
  from (select purge_id, count(*) as records from by_purge group by purge_id) as of_it
  where p.workspace_id = ws and p.id = of_it.purge_id;
  return cardinality(doomed);
end $$;

-- Removes what purges have ended from these conversations: messages, places, and a conversation in which no other is left.
create or replace function remove_from_conversations(ws uuid, touched uuid[]) returns int
  language plpgsql as $$
declare
  shortened uuid[] := remove_ended_messages(ws, touched);
begin
  -- Tags that were made from what is gone go as well; the conversation gets others from what is left.
  perform count_off(ws, array(select unnest(tags) from conversation where workspace_id = ws and id = any (shortened)));
  update conversation set tags = null, purged_number = (select max(number) from purge where workspace_id = ws)
  where workspace_id = ws and id = any (shortened);
  delete from conversation_contact
  where workspace_id = ws and conversation_id = any (touched)
    and contact_id in (select unnest(contact_ids) from purge where workspace_id = ws);
  update conversation as c set contact_keys = array(
    select key_id from unnest(c.contact_keys) as key_id
    where exists (select from identity_key as k where k.workspace_id = ws and k.id = key_id offset 0)
  )
  where c.workspace_id = ws and c.id = any (touched);
  perform remove_conversations(ws, array(
    select c.id from unnest(touched) as c (id)
    where not exists (select from conversation_contact where workspace_id = ws and conversation_id = c.id offset 0)
      and not exists (select from message where workspace_id is not distinct from ws and conversation_id = c.id and contact_id is not null offset 0)
  ));
  return cardinality(touched);
end $$;

-- Returns the conversations that lost messages.
create or replace function remove_ended_messages(ws uuid, touched uuid[]) returns uuid[]
  language plpgsql as $$
declare
  shortened uuid[];
begin
  with gone as (
    delete from message as k using ended_messages(ws, touched) as m
    where k.workspace_id is not distinct from ws and k.ctid = m.place
    returning m.id, m.conversation_id, m.purge_id
  ),
  -- As with feedback: a former version may have been nobody's, or somebody else's.
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id)
    select ws, g.id, p.number, g.id, g.id from gone as g join purge as p on p.workspace_id = ws and p.id = g.purge_id
    on conflict do nothing
  ),
  forgotten as (
    delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
      select u.ctid from gone as g,
        lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = g.id offset 0) as u
    ))
  ),
  counted as (
    update purge as p set messages = p.messages + of_it.records
    from (select purge_id, count(*) as records from gone group by purge_id) as of_it
    where p.workspace_id = ws and p.id = of_it.purge_id
  )
  select coalesce(array_agg(distinct conversation_id), '{}') into shortened from gone;
  return shortened;
end $$;

-- Messages of these conversations that purges have ended, and by which purge.
create or replace function ended_messages(ws uuid, in_conversations uuid[])
returns table (place tid, id uuid, conversation_id uuid, purge_id uuid)
  language sql stable as $$
  select m.place, m.id, m.conversation_id, p.id
  from (select * from purge where workspace_id = ws offset 0) as p,
    unnest(in_conversations) as c (id),
    lateral (
      select ctid as place, * from message as held where held.workspace_id is not distinct from ws and held.conversation_id = c.id offset 0
    ) as m
  where m.contact_id = any (p.contact_ids)
    or (m.contact_id is null and m.number < p.number and exists (
      select from unresolved_reference as u
      where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = m.id offset 0
    ))
$$;

create or replace function remove_conversations(ws uuid, doomed uuid[]) returns void
  language plpgsql as $$
begin
  perform count_off(ws, array(select unnest(tags) from conversation where workspace_id = ws and id = any (doomed)));
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from unnest(doomed) as c (id),
      lateral (select id from message where workspace_id is not distinct from ws and conversation_id = c.id offset 0) as m,
      lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id offset 0) as u
  ));
  delete from message where workspace_id is not distinct from ws and ctid = any (array(
    select m.ctid from unnest(doomed) as c (id),
      lateral (select ctid from message where workspace_id is not distinct from ws and conversation_id = c.id offset 0) as m
  ));
  insert into fence (workspace_id, key_id, number, id, next_id)
  select ws, c.id, max(p.number), c.id, c.id from unnest(doomed) as c (id), purge as p where p.workspace_id = ws group by c.id
  on conflict do nothing;
  delete from conversation where workspace_id = ws and id = any (doomed);
end $$;

-- The receipt of a purge has what it removed, per table, and nothing of whom it concerned but keyed hashes.
create or replace function settle_purge(ws uuid, purge_id uuid, with_attempts int, hashes jsonb) returns jsonb
  language plpgsql as $$
declare
  removed jsonb;
begin
  perform lock_workspaces(array[ws]);
  if is_deleted(ws) then
    return '{"contacts": 0, "feedback": 0, "messages": 0, "conversations": 0, "deadSubmissions": 0}';
  end if;
  with done as (
    delete from purge where workspace_id = ws and id = purge_id returning *
  )
  insert into submission as s (
    workspace_id, id, acceptance_number, operation, state, attempts, finished_at, counts, identifiers)
  select ws, purge_id, number, 'purge_contact', 'applied', with_attempts, now(),
    jsonb_build_object(
      'contacts', contacts, 'feedback', feedback, 'messages', messages, 'conversations', conversations,
      'deadSubmissions', dead_submissions),
    hashes
  from done
  on conflict (workspace_id, id) do update
  set state = 'applied', attempts = excluded.attempts, finished_at = excluded.finished_at, error = null,
    counts = excluded.counts, identifiers = excluded.identifiers;
  select counts into removed from submission where workspace_id = ws and id = purge_id;
  return removed;
end $$;

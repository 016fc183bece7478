-- A purge in two phases. Decided at once, when all that was accepted before it is stored: whom it concerns; their keys go, and
-- fences stand in their place, so that what comes after can go on. Then their records go, in bounded steps. Whatever a later
-- submission touches of what is to go, goes first: so it finds what it would have found after the whole purge.

drop function purge_feedback, purge_superseded, purge_messages, purge_conversations, purge_identity, settle_purge;

alter table submission add column identifiers jsonb;
-- Planner statistics would keep what people have said until the next analyze.
do $$
declare
  c record;
begin
  for c in
    select * from (values
      ('contact', array['name', 'email', 'properties', 'facts']),
      ('contact_external_id', array['external_id']),
      ('identity_key', array['external_id', 'facts']),
      ('feedback', array['description', 'title', 'tags', 'source_id', 'source_data', 'contact_ref']),
      ('superseded_reference', array['contact_ref']),
      ('feedback_category', array['title']),
      ('conversation', array['external_id', 'title', 'tags', 'properties']),
      ('message', array['external_id', 'content', 'source_url', 'raw_data', 'contact_ref']),
      ('dead_submission', array['job', 'reason'])
    ) as personal (table_name, columns), unnest(columns) as column_name
  loop
    execute format('alter table %I alter column %I set statistics 0', c.table_name, c.column_name);
  end loop;
end $$;

-- Whom a purge concerns, of what is stored: by external id (a group), in `in_source` or in all; by email, whose it is, and whom
-- it resolves to; with a source those of them that have an external id there or, known only by email, were created there.
create function matching_contacts(ws uuid, external_group uuid, email_key uuid, in_source text) returns setof uuid
  language sql stable as $$
  select subject_id from identity_key
  where workspace_id = ws and group_id = external_group and kind = 'contact_external' and exists_from is not null
    and (in_source is null or source = in_source)
  union
  select c.id
  from (
    select resolve_weak(ws, email_key, 9223372036854775807) as id
    where email_key is not null
    union
    select k.subject_id from identity_claim as c
    join identity_key as k on k.workspace_id = ws and k.id = c.target_id
    join contact as t on t.workspace_id = ws and t.id = k.subject_id and t.facts -> 'k:email' ->> 1 = key_of(ws, email_key)::text
    where c.workspace_id = ws and c.key_id = email_key
  ) as found
  join contact as c on c.workspace_id = ws and c.id = found.id
  where in_source is null
    or exists (select from contact_external_id as e where e.workspace_id = ws and e.contact_id = c.id and e.source = in_source)
    or (in_source = 'API' and not exists (select from contact_external_id as e where e.workspace_id = ws and e.contact_id = c.id))
$$;

-- Whether a feedback or message remembers an external id that nobody has.
create function is_remembered(ws uuid, external_group uuid) returns boolean
  language sql stable
  return exists (
    select from unresolved_reference as u
    join reference as r on r.workspace_id = ws and r.id = u.record_id and r.number = u.number and r.contact_id is null
    where u.workspace_id = ws and u.ref_id = external_group
      and not exists (select from fence as f where f.workspace_id = ws and f.group_id = external_group and f.number >= u.number)
  );

create type wanted_purge as (id uuid, number bigint, "group" uuid, email uuid, source text);

-- Decides a purge: removes whoever matches with all keys and claims, and raises their fences. Repeated, it changes nothing.
create function decide_purge(ws uuid, wanted wanted_purge) returns void
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
      select key_id from fence where workspace_id = ws and number = wanted.number
      union select group_id from fence where workspace_id = ws and number = wanted.number and group_id is not null
      union select unnest(array_remove(array[wanted."group", wanted.email], null))
    ),
    gone
  );
end $$;

-- The keys and claims of contacts. An email that others have claimed stays theirs, but its own id means nobody from now on.
create function end_keys(ws uuid, contacts uuid[], at_number bigint) returns void
  language plpgsql as $$
declare
  keys uuid[];
  emails uuid[];
begin
  keys := array(
    select id from identity_key
    where workspace_id = ws and subject_id = any (contacts) and kind in ('contact_external', 'contact_bare', 'contact_record')
  );
  emails := array(
    select key_id from identity_claim where workspace_id = ws and target_id = any (keys)
    union
    select id from identity_key where workspace_id = ws and id = any (contacts) and kind = 'contact_email'
  );
  update identity_key as k set orphaned = true
  where k.workspace_id = ws and k.id = any (emails) and (
    select c.target_id from identity_claim as c
    where c.workspace_id = ws and c.key_id = k.id and c.decides order by c.number limit 1
  ) = any (keys);
  -- Keys that were taken for an external id's home until an older identify came: nobody is meant by them.
  delete from identity_key
  where workspace_id = ws and exists_from is null and kind = 'contact_external'
    and group_id in (select group_id from identity_key where workspace_id = ws and id = any (keys));
  insert into fence_claim (workspace_id, key_id, number, ended_number)
  select ws, c.key_id, c.number, at_number from identity_claim as c
  where c.workspace_id = ws and c.target_id = any (keys) and c.decides and exists (
    select from identity_claim as o
    where o.workspace_id = ws and o.key_id = c.key_id and o.decides and o.target_id <> all (keys)
  )
  on conflict do nothing;
  delete from identity_claim where workspace_id = ws and target_id = any (keys);
  delete from contact_external_id where workspace_id = ws and key_id = any (keys);
  with ended as (
    delete from identity_key as k
    where k.workspace_id = ws and (
      k.id = any (keys)
      or (k.id = any (emails)
        and not exists (select from identity_claim as c where c.workspace_id = ws and c.key_id = k.id and c.decides))
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
  from ended as e where c.workspace_id = ws and c.key_id = e.id;
end $$;

-- Tags of records that go, each as often as a record carries it.
create function count_off(ws uuid, tags text[]) returns void
  language sql as $$
  select count_tags(ws, jsonb_object_agg(t.title, -t.uses))
  from (select title, count(*) as uses from unnest(tags) as g (title) group by title) as t
  having count(*) > 0
$$;

-- Removes feedback of contacts that purges have ended. What it said about accounts and projects holds: they stay.
create function remove_feedback(ws uuid, doomed uuid[]) returns int
  language plpgsql as $$
begin
  perform count_off(ws, array(select unnest(tags) from feedback where workspace_id = ws and id = any (doomed)));
  insert into superseded_reference (
    workspace_id, id, number, source, account_id, project_id, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, id, number, source, account_id, project_id, account_ref, project_ref, false, account_given, project_given
  from feedback where workspace_id = ws and id = any (doomed) and (account_given or project_given)
  on conflict do nothing;
  delete from unresolved_reference as u using feedback as f
  where u.workspace_id = ws and u.record_id = any (doomed) and f.workspace_id = ws and f.id = u.record_id and f.number = u.number;
  with gone as (
    delete from feedback where workspace_id = ws and id = any (doomed) returning id, contact_id, number, first_number
  ),
  by_purge as (
    select g.id, g.number > g.first_number as had_former, k.id as purge_id, k.number from gone as g
    join purge as k on k.workspace_id = ws and (
      g.contact_id = any (k.contact_ids) or (g.contact_id is null and k.remembered is not null and g.number < k.number)
    )
  ),
  -- A former version of the record may have been nobody's: it must not come again all the same.
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id)
    select ws, id, number, id, id from by_purge where had_former
    on conflict do nothing
  )
  update purge as p set feedback = p.feedback + of_it.records
  from (select purge_id, count(*) as records from by_purge group by purge_id) as of_it
  where p.workspace_id = ws and p.id = of_it.purge_id;
  return cardinality(doomed);
end $$;

-- Removes what purges have ended from these conversations: messages, places, and a conversation in which no other is left.
create function remove_from_conversations(ws uuid, touched uuid[]) returns int
  language plpgsql as $$
declare
  empty uuid[];
begin
  with gone as (
    delete from message as m using purge as p
    where m.workspace_id = ws and m.conversation_id = any (touched) and p.workspace_id = ws and (
      m.contact_id = any (p.contact_ids)
      or (m.contact_id is null and m.number < p.number and exists (
        select from unresolved_reference as u where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = m.id
      ))
    )
    returning m.id, p.id as purge_id
  ),
  forgotten as (
    delete from unresolved_reference as u using gone as g where u.workspace_id = ws and u.record_id = g.id
  )
  update purge as p set messages = p.messages + of_it.records
  from (select purge_id, count(*) as records from gone group by purge_id) as of_it
  where p.workspace_id = ws and p.id = of_it.purge_id;
  delete from conversation_contact as c using purge as p
  where c.workspace_id = ws and c.conversation_id = any (touched) and p.workspace_id = ws and c.contact_id = any (p.contact_ids);
  update conversation as c set contact_keys = array(
    select key_id from unnest(c.contact_keys) as key_id
    where exists (select from identity_key as k where k.workspace_id = ws and k.id = key_id)
  )
  where c.workspace_id = ws and c.id = any (touched);
  empty := array(
    select c.id from unnest(touched) as c (id)
    where not exists (select from conversation_contact where workspace_id = ws and conversation_id = c.id)
      and not exists (select from message where workspace_id = ws and conversation_id = c.id and contact_id is not null)
  );
  perform count_off(ws, array(select unnest(tags) from conversation where workspace_id = ws and id = any (empty)));
  delete from unresolved_reference as u using message as m
  where u.workspace_id = ws and m.workspace_id = ws and m.id = u.record_id and m.conversation_id = any (empty);
  delete from message where workspace_id = ws and conversation_id = any (empty);
  insert into fence (workspace_id, key_id, number, id, next_id)
  select ws, c.id, max(p.number), c.id, c.id from unnest(empty) as c (id), purge as p where p.workspace_id = ws group by c.id
  on conflict do nothing;
  delete from conversation where workspace_id = ws and id = any (empty);
  return cardinality(touched);
end $$;

create function doomed_feedback(ws uuid, p purge, most int) returns uuid[]
  language sql stable
  return array(
    select id from feedback where workspace_id = ws and contact_id = any (p.contact_ids)
    union all
    select f.id from unresolved_reference as u
    join feedback as f on f.workspace_id = ws and f.id = u.record_id and f.number = u.number and f.contact_id is null
    where u.workspace_id = ws and u.ref_id = p.remembered and u.number < p.number
    limit most
  );

create function doomed_conversations(ws uuid, p purge, most int) returns uuid[]
  language sql stable
  return array(
    (select distinct conversation_id from conversation_contact where workspace_id = ws and contact_id = any (p.contact_ids) limit most)
    union
    (select distinct conversation_id from message where workspace_id = ws and contact_id = any (p.contact_ids) limit most)
    union
    (select distinct m.conversation_id from unresolved_reference as u
    join message as m on m.workspace_id = ws and m.id = u.record_id and m.contact_id is null
    where u.workspace_id = ws and u.ref_id = p.remembered and m.number < p.number limit most)
    limit most
  );

-- One step of removing what a decided purge has ended: at most `most` records. 0: nothing is left of it.
create function purge_step(ws uuid, purge_id uuid, most int) returns int
  language plpgsql as $$
declare
  p purge;
  ids uuid[];
  removed int;
begin
  perform lock_workspaces(array[ws]);
  select * into p from purge where workspace_id = ws and id = purge_id;
  if not found then return 0; end if;
  ids := doomed_feedback(ws, p, most);
  if cardinality(ids) > 0 then return remove_feedback(ws, ids); end if;
  with doomed as (
    select id, number from superseded_reference where workspace_id = ws and contact_id = any (p.contact_ids) limit most
  ),
  gone as (
    delete from superseded_reference as s using doomed as d
    where s.workspace_id = ws and s.id = d.id and s.number = d.number and not s.account_given and not s.project_given
  ),
  kept as (
    update superseded_reference as s set contact_id = null, contact_ref = null, contact_given = false
    from doomed as d
    where s.workspace_id = ws and s.id = d.id and s.number = d.number and (s.account_given or s.project_given)
  ),
  forgotten as (
    delete from unresolved_reference as u using doomed as d
    where u.workspace_id = ws and u.record_id = d.id and u.number = d.number
  )
  select count(*) into removed from doomed;
  if removed > 0 then return removed; end if;
  ids := doomed_conversations(ws, p, most);
  if cardinality(ids) > 0 then return remove_from_conversations(ws, ids); end if;
  return 0;
end $$;

-- What a later submission touches of what is to go, goes first.
create function remove_before(ws uuid, feedback_ids uuid[], conversation_ids uuid[]) returns void
  language plpgsql as $$
declare
  doomed uuid[];
begin
  if not exists (select from purge where workspace_id = ws) then return; end if;
  doomed := array(
    select f.id from feedback as f, purge as p
    where f.workspace_id = ws and f.id = any (feedback_ids) and p.workspace_id = ws and (
      f.contact_id = any (p.contact_ids)
      or (f.contact_id is null and f.number < p.number and exists (
        select from unresolved_reference as u
        where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = f.id and u.number = f.number
      ))
    )
  );
  if cardinality(doomed) > 0 then perform remove_feedback(ws, doomed); end if;
  doomed := array(
    select m.conversation_id from message as m, purge as p
    where m.workspace_id = ws and m.conversation_id = any (conversation_ids) and p.workspace_id = ws and (
      m.contact_id = any (p.contact_ids)
      or (m.contact_id is null and m.number < p.number and exists (
        select from unresolved_reference as u where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = m.id
      ))
    )
    union
    select c.conversation_id from conversation_contact as c, purge as p
    where c.workspace_id = ws and c.conversation_id = any (conversation_ids)
      and p.workspace_id = ws and c.contact_id = any (p.contact_ids)
  );
  if cardinality(doomed) > 0 then perform remove_from_conversations(ws, doomed); end if;
end $$;

create or replace function derive_conversation_contacts(ws uuid, conversations uuid[]) returns void
  language plpgsql as $$
begin
  perform remove_before(ws, '{}', conversations);
  delete from conversation_contact where workspace_id = ws and conversation_id = any (conversations);
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from conversation as c, unnest(c.contact_keys) as key_id
  join identity_key as k on k.workspace_id = ws and k.id = key_id
  where c.workspace_id = ws and c.id = any (conversations);
end $$;

-- The receipt of a purge has what it removed, per table, and nothing of whom it concerned but keyed hashes.
create function settle_purge(ws uuid, purge_id uuid, with_attempts int, hashes jsonb) returns jsonb
  language plpgsql as $$
declare
  removed jsonb;
begin
  perform lock_workspaces(array[ws]);
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

create index dead_submission_keys on dead_submission using gin (keys);

-- Removes a dead submission, or what a purge leaves of it takes its place: {job, keys}.
create function purge_dead(ws uuid, purge_id uuid, dead_id uuid, kept jsonb) returns void
  language plpgsql as $$
begin
  perform lock_workspaces(array[ws]);
  if kept is not null then
    update dead_submission set job = kept ->> 'job', keys = array(select jsonb_array_elements_text(kept -> 'keys')::uuid)
    where workspace_id = ws and id = dead_id;
    return;
  end if;
  delete from dead_submission where workspace_id = ws and id = dead_id;
  if found then
    update submission set state = 'purged', error = null, finished_at = now() where workspace_id = ws and id = dead_id;
    update purge set dead_submissions = dead_submissions + 1 where workspace_id = ws and id = purge_id;
  end if;
end $$;

-- Puts fences up that are missing, as when a backup was restored that is older than their purges, and ends again what they
-- ended: {workspaceId, keyId, number, id, nextId, groupId, sourceHash, fromNumber}. Returns purges whose records are to be removed.
create function raise_fences(fences jsonb) returns table (workspace_id uuid, purge_id uuid)
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
    )
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

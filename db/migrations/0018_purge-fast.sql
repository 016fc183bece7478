-- Purges and storing by the access paths of 0014_store-fast.sql: functions of 0010 to 0012, which read by all of a key, name the workspace
-- beside a ctid, and raise a fence for every record with an id that a purge removes. All else about them is as it was.

-- The key that an own id belongs to.
create or replace function key_of(ws uuid, own uuid) returns uuid
  language sql stable
  return coalesce((select f.key_id from fence as f where f.workspace_id is not distinct from ws and f.next_id = own), own);

-- A part of a batch, its keys as own ids at the number of whoever says them, and without what fences refuse: that which was
-- accepted before a purge of what it says, and comes after it all the same. `refused` are the numbers of submissions of which
-- nothing is left.
create or replace function past_fences(ws uuid, part jsonb, out passed jsonb, out refused bigint[])
  language plpgsql stable as $$
begin
  passed := part;
  refused := '{}';
  if not is_fenced(ws, array(select jsonb_array_elements_text(part -> 'mentions')::uuid)) then
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
        where n <> all (refused) and not ended_after(ws, (m ->> 'id')::uuid, n)
          and not is_reference_ended(ws, nullif(m -> 'contact_ref', 'null'), n, m ->> 'source')
      )
    ) else '{}' end;
end $$;

-- Who came after a purge of an external id is not the one whom a feedback from before it remembers.
create or replace function resolve_late(ws uuid, external_group uuid, n bigint) returns uuid
  language sql stable
  set enable_seqscan = off
  return (
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
  );

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

-- The keys and claims of contacts. An email that others have claimed stays theirs, but its own id means nobody from now on.
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
  delete from contact_external_id where workspace_id = ws and key_id = any (keys);
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
  empty uuid[];
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
  empty := array(
    select c.id from unnest(touched) as c (id)
    where not exists (select from conversation_contact where workspace_id = ws and conversation_id = c.id offset 0)
      and not exists (select from message where workspace_id is not distinct from ws and conversation_id = c.id and contact_id is not null offset 0)
  );
  perform count_off(ws, array(select unnest(tags) from conversation where workspace_id = ws and id = any (empty)));
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from unnest(empty) as c (id),
      lateral (select id from message where workspace_id is not distinct from ws and conversation_id = c.id offset 0) as m,
      lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id offset 0) as u
  ));
  delete from message where workspace_id is not distinct from ws and ctid = any (array(
    select m.ctid from unnest(empty) as c (id),
      lateral (select ctid from message where workspace_id is not distinct from ws and conversation_id = c.id offset 0) as m
  ));
  insert into fence (workspace_id, key_id, number, id, next_id)
  select ws, c.id, max(p.number), c.id, c.id from unnest(empty) as c (id), purge as p where p.workspace_id = ws group by c.id
  on conflict do nothing;
  delete from conversation where workspace_id = ws and id = any (empty);
  return cardinality(touched);
end $$;

create or replace function doomed_conversations(ws uuid, p purge, most int) returns uuid[]
  language sql stable
  return array(
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
  );

-- One step of removing what a decided purge has ended: at most `most` records. 0: nothing is left of it.
create or replace function purge_step(ws uuid, purge_id uuid, most int) returns int
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
  if removed > 0 then return removed; end if;
  ids := doomed_conversations(ws, p, most);
  if cardinality(ids) > 0 then return remove_from_conversations(ws, ids); end if;
  return 0;
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

create or replace function derive_conversation_contacts(ws uuid, conversations uuid[]) returns void
  language plpgsql as $$
begin
  if cardinality(conversations) = 0 then return; end if;
  perform remove_before(ws, '{}', conversations);
  delete from conversation_contact where workspace_id = ws and conversation_id = any (conversations);
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from unnest(conversations) as of_id (id),
    lateral (select id, contact_keys from conversation where workspace_id = ws and id = of_id.id offset 0) as c,
    unnest(c.contact_keys) as key (id),
    lateral (select subject_id from identity_key where workspace_id = ws and id = key.id offset 0) as k;
end $$;

create or replace function relink(ws uuid, changed uuid[], appeared uuid[]) returns uuid[]
  language plpgsql as $$
declare
  touched uuid[] := '{}';
  concerned reference[];
  moved relinked[];
  said record;
  -- Contacts whose purge is under way: what is theirs stays marked as theirs until it is gone.
  ended uuid[] := array(select unnest(contact_ids) from purge where workspace_id = ws);
begin
  while cardinality(changed) > 0 or cardinality(appeared) > 0 loop
    concerned := concerned_references(ws, changed, appeared);
    exit when cardinality(concerned) = 0;
    moved := array(
      select row(
        r.record, r.id, r.number, c, a, p,
        array_remove(array[r.contact_id, r.account_id, r.project_id], null),
        array_remove(array[
          case when c.given and not r.contact_given then given_of(r.contact_ref, r.number) end,
          case when a.given and not r.account_given then given_of(r.account_ref, r.number) end,
          case when p.given and not r.project_given then given_of(r.project_ref, r.number) end], null),
        array_remove(array[
          case when r.contact_given and not c.given then given_of(r.contact_ref, r.number) end,
          case when r.account_given and not a.given then given_of(r.account_ref, r.number) end,
          case when r.project_given and not p.given then given_of(r.project_ref, r.number) end], null)
      )::relinked
      from unnest(concerned) as r,
      resolve_unless_ended(ws, r, ended) as c,
      resolve(ws, 'account', r.account_ref, r.number, r.source) as a,
      resolve(ws, 'project', r.project_ref, r.number, r.source) as p
      where (c.id, c.given, a.id, a.given, p.id, p.given)
        is distinct from (r.contact_id, r.contact_given, r.account_id, r.account_given, r.project_id, r.project_given)
    );
    perform link_anew(ws, moved);
    touched := touched || array(
      select unnest(m.before_ids || array_remove(array[(m.contact).id, (m.account).id, (m.project).id], null))
      from unnest(moved) as m
    );
    said := store_given(ws, array(select g from unnest(moved) as m, unnest(m.now_given) as g));
    changed := said.changed || withdraw_given(ws, array(select g from unnest(moved) as m, unnest(m.no_longer_given) as g));
    appeared := said.appeared;
  end loop;
  return array(select distinct unnest(touched));
end $$;

-- One part of a batch, {mentions, keys, claims, feedback, conversations, messages, submissions}, rows in the tables' own shapes.
-- Redelivery changes nothing.
create or replace function store_part(ws uuid, part jsonb) returns setof submission
  language plpgsql as $$
declare
  identities record;
  said record;
  changed uuid[] := '{}';
  appeared uuid[] := '{}';
  touched uuid[] := '{}';
  fenced record := past_fences(ws, part);
  -- Delivered again although it was settled before: a purge may have removed it meanwhile, so nothing of it is looked at.
  settled bigint[] := array(
    select s.acceptance_number
    from jsonb_to_recordset(part -> 'submissions') as d (id uuid),
      lateral (
        select acceptance_number from submission
        where workspace_id = ws and id = d.id and state in ('applied', 'superseded', 'purged') offset 0
      ) as s
  );
begin
  if exists (select from purge where workspace_id = ws) then
    perform remove_before(
      ws,
      array(select (f ->> 'id')::uuid from jsonb_array_elements(part -> 'feedback') as f),
      array(select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c)
    );
  end if;
  if fenced.passed ? 'keys' then
    select * into identities from store_identities(
      ws,
      array(select k from jsonb_populate_recordset(null::identity_key, fenced.passed -> 'keys') as k where k.said_from <> all (settled)),
      array(select c from jsonb_populate_recordset(null::said_claim, fenced.passed -> 'claims') as c where c.number <> all (settled))
    );
    changed := identities.changed;
    appeared := identities.appeared;
    touched := identities.touched;
  end if;
  if fenced.passed ? 'conversations' then
    perform store_conversations(
      ws,
      array(select c from jsonb_populate_recordset(null::conversation, fenced.passed -> 'conversations') as c where c.number <> all (settled)),
      array(select m from jsonb_populate_recordset(null::message, fenced.passed -> 'messages') as m where m.number <> all (settled))
    );
  end if;
  if fenced.passed ? 'feedback' then
    said := store_feedback(ws, array(
      select f from jsonb_populate_recordset(null::feedback, fenced.passed -> 'feedback') as f where f.number <> all (settled)
    ));
    changed := changed || said.changed;
    appeared := appeared || said.appeared;
  end if;
  touched := touched || relink(ws, changed, appeared);
  if cardinality(touched) > 0 then
    perform gather(
      ws, array(select t from unnest(touched) as t except select unnest(contact_ids) from purge where workspace_id = ws)
    );
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select ws, s.id, s.number, s.operation,
    case
      when s.number = any (fenced.refused) then 'purged'
      when s.operation = 'create_feedback' and exists (
        select from feedback as f where f.workspace_id = ws and f.id = s.record and f.number > s.number offset 0
      ) then 'superseded'
      when s.operation = 'submit_conversation' and exists (
        select from conversation as c where c.workspace_id = ws and c.id = s.record and c.number > s.number offset 0
      ) then 'superseded'
      else 'applied'
    end,
    s.attempts, now()
  from jsonb_to_recordset(part -> 'submissions') as s (id uuid, number bigint, operation text, attempts int, record uuid)
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = null
  where k.state in ('queued', 'dead')
  returning k.*;
end $$;

alter function purge_step(uuid, uuid, int) set enable_seqscan = off;
alter function purge_step(uuid, uuid, int) set enable_bitmapscan = off;

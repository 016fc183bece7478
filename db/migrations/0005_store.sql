-- What identify calls said: keys, their facts and their claims, as rows in the tables' own shapes, a key at most once for each
-- submission.
create function store_identities(ws uuid, keys identity_key[], claims said_claim[])
returns table (changed uuid[], appeared uuid[], touched uuid[])
  language plpgsql as $$
declare
  claimed record;
  held record;
begin
  insert into identity_key as k (
    workspace_id, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
    account_id, account_number, subject_id)
  select ws, n.id, min(n.kind), (array_agg(n.group_id))[1], (array_agg(n.home_id order by n.said_from))[1],
    (array_agg(n.source order by n.said_from))[1], min(n.external_id), min(n.said_from), max(n.last_number), all_facts(n.facts),
    (array_agg(n.account_id order by n.account_number desc) filter (where n.account_id is not null))[1],
    max(n.account_number), n.id
  from unnest(keys) as n group by n.id order by n.id
  on conflict (workspace_id, id) do update set
    facts = merge_facts(k.facts, excluded.facts),
    home_id = case when excluded.said_from < k.said_from then excluded.home_id else k.home_id end,
    source = case when excluded.said_from < k.said_from then excluded.source else k.source end,
    said_from = least(k.said_from, excluded.said_from),
    last_number = greatest(k.last_number, excluded.last_number),
    account_id = case when excluded.account_number > coalesce(k.account_number, 0) then excluded.account_id else k.account_id end,
    account_number = greatest(k.account_number, excluded.account_number);
  changed := regroup(ws, array(select distinct group_id from unnest(keys)));
  held := store_claims(ws, claims);
  changed := changed || held.changed;
  appeared := held.appeared;
  -- A bare id that moved takes along what was said about it, so both contacts are gathered anew.
  touched := array(
    select k.id from identity_key as k
    where k.workspace_id = ws and k.kind = 'contact_external' and k.group_id in (
      select b.group_id from identity_key as b
      where b.workspace_id = ws and b.kind = 'contact_bare' and b.id = any (changed)
    )
  );
  perform derive_conversation_contacts(
    ws, array(select distinct conversation_id from conversation_contact where workspace_id = ws and contact_id = any (touched))
  );
  perform add_to_contacts(ws, array(
    select row(ws, k.subject_id, null, null, null, n.account_id, null, null, null, null, null,
      n.facts, n.account_number, n.said_from, n.last_number)::contact
    from unnest(keys) as n join identity_key as k on k.workspace_id = ws and k.id = n.id
    where n.kind in ('contact_external', 'contact_bare')
  ));
  perform add_to_accounts(ws, array(
    select row(ws, n.id, null, null, null, null, null, null, null, null, n.facts, n.said_from, n.last_number)::account
    from unnest(keys) as n where n.kind = 'account_external'
  ));
  return next;
end $$;

create function derive_conversation_contacts(ws uuid, conversations uuid[]) returns void
  language plpgsql as $$
begin
  delete from conversation_contact where workspace_id = ws and conversation_id = any (conversations);
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from conversation as c, unnest(c.contact_keys) as key_id
  join identity_key as k on k.workspace_id = ws and k.id = key_id
  where c.workspace_id = ws and c.id = any (conversations);
end $$;

create type resolved_feedback as (
  id uuid, number bigint, wins boolean, contact resolution, account resolution, project resolution
);

-- Feedback: the submission with the highest number stands for the record; what the others said about contacts, accounts and
-- projects holds all the same.
create function store_feedback(ws uuid, incoming feedback[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  said record;
  resolved resolved_feedback[];
begin
  said := store_given(ws, array(
    select given_of(s.ref, f.number)
    from unnest(incoming) as f,
      lateral (values ('contact', f.contact_ref), ('account', f.account_ref), ('project', f.project_ref)) as s (slot, ref)
    where s.ref ? 'weak' and (not s.ref ? 'ids' or (resolve(ws, s.slot, s.ref, f.number, f.source)).given)
  ));
  changed := said.changed;
  appeared := said.appeared;

  resolved := array(
    select row(
      f.id, f.number,
      f.number > coalesce(held.number, 0) and row_number() over (partition by f.id order by f.number desc) = 1,
      c, a, p)::resolved_feedback
    from unnest(incoming) as f
    left join feedback as held on held.workspace_id = ws and held.id = f.id,
      resolve(ws, 'contact', f.contact_ref, f.number, f.source) as c,
      resolve(ws, 'account', f.account_ref, f.number, f.source) as a,
      resolve(ws, 'project', f.project_ref, f.number, f.source) as p
  );

  insert into superseded_reference (
    workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, held.id, held.number, held.source, held.contact_id, held.account_id, held.project_id,
    held.contact_ref, held.account_ref, held.project_ref, held.contact_given, held.account_given, held.project_given
  from feedback as held join unnest(resolved) as r on r.id = held.id and r.wins
  where held.workspace_id = ws and (held.contact_ref ? 'weak' or held.account_ref ? 'weak' or held.project_ref ? 'weak')
  union all
  select ws, f.id, f.number, f.source, (r.contact).id, (r.account).id, (r.project).id,
    f.contact_ref, f.account_ref, f.project_ref, (r.contact).given, (r.account).given, (r.project).given
  from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number and not r.wins
  where (f.contact_ref ? 'weak' or f.account_ref ? 'weak' or f.project_ref ? 'weak')
    and not exists (select from feedback as held where held.workspace_id = ws and held.id = f.id and held.number = f.number)
  on conflict do nothing;

  delete from unresolved_reference as u
  using feedback as held join unnest(resolved) as r on r.id = held.id and r.wins
  where held.workspace_id = ws and u.workspace_id = ws and u.record_id = held.id and u.number = held.number
    and not exists (
      select from superseded_reference as s where s.workspace_id = ws and s.id = held.id and s.number = held.number
    );

  perform count_tags(ws, jsonb_object_agg(d.title, d.delta))
  from (
    select title, sum(uses) as delta
    from (
      select t.title, -1 as uses
      from feedback as held join unnest(resolved) as r on r.id = held.id and r.wins, unnest(held.tags) as t (title)
      where held.workspace_id = ws
      union all
      select t.title, 1
      from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number and r.wins,
        unnest(f.tags) as t (title)
    ) as changes
    group by title
  ) as d
  having count(*) > 0;

  insert into feedback as k (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
    number, first_number, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, f.id, f.description, f.title, f.is_transcript, f.tags, f.tags is null, f.rating, f.source, f.source_id, f.source_data,
    f.number, f.number,
    (r.contact).id, (r.account).id, (r.project).id,
    f.contact_ref, f.account_ref, f.project_ref, (r.contact).given, (r.account).given, (r.project).given
  from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number and r.wins
  on conflict (workspace_id, id) do update set
    description = excluded.description, title = excluded.title, is_transcript = excluded.is_transcript,
    tags = excluded.tags, tags_generated = excluded.tags_generated, rating = excluded.rating,
    source = excluded.source, source_id = excluded.source_id, source_data = excluded.source_data,
    number = excluded.number, first_number = least(k.first_number, excluded.first_number),
    contact_id = excluded.contact_id, account_id = excluded.account_id, project_id = excluded.project_id,
    contact_ref = excluded.contact_ref, account_ref = excluded.account_ref, project_ref = excluded.project_ref,
    contact_given = excluded.contact_given, account_given = excluded.account_given, project_given = excluded.project_given;

  update feedback as k set first_number = r.number
  from (select id, min(number) as number from unnest(resolved) group by id) as r
  where k.workspace_id = ws and k.id = r.id and k.first_number > r.number;

  -- Only added here: what a redelivered record remembers is for relink to clear, when it has linked it.
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, u.ref_id, r.id, r.number
  from unnest(resolved) as r, unnest((r.contact).missed || (r.account).missed || (r.project).missed) as u (ref_id)
  where exists (select from reference as k where k.workspace_id = ws and k.id = r.id and k.number = r.number)
  on conflict do nothing;

  perform add_to_contacts(ws, array(
    select row(ws, (r.contact).id, null, null, null, null, null, null, null, null, null,
      f.contact_ref -> 'given', null, f.number, null)::contact
    from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number and (r.contact).given
  ));
  perform add_to_accounts(ws, array(
    select row(ws, (r.account).id, null, null, null, null, null, null, null, null,
      f.account_ref -> 'given', f.number, null)::account
    from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number and (r.account).given
  ));
  insert into project as k (workspace_id, id, name, first_number)
  select ws, (r.project).id, min(f.project_ref -> 'given' ->> 'name'), min(f.number)
  from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number and (r.project).given
  group by (r.project).id order by (r.project).id
  on conflict (workspace_id, id) do update set first_number = excluded.first_number
  where k.first_number > excluded.first_number;

  -- Above, what was given counted wherever no id meant anybody. Meanwhile one may: of something given in this very batch.
  changed := changed || withdraw_given(ws, array(
    select given_of(s.ref, f.number)
    from unnest(incoming) as f join unnest(resolved) as r on r.id = f.id and r.number = f.number,
      lateral (values
        (f.contact_ref, (r.contact).given), (f.account_ref, (r.account).given), (f.project_ref, (r.project).given)
      ) as s (ref, given)
    where s.ref ? 'ids' and s.ref ? 'weak' and not s.given
  ));
end $$;

-- Conversations and messages: whoever has the highest number stands, record by record; what a submission leaves out stays.
-- A conversation's contacts add up.
create function store_conversations(ws uuid, incoming conversation[], incoming_messages message[]) returns void
  language plpgsql as $$
declare
  touched uuid[] := array(select distinct id from unnest(incoming));
  said message[];
begin
  insert into conversation as k (
    workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, number, contact_keys)
  select distinct on (c.id)
    ws, c.id, c.external_id, c.source, c.title, c.rating, c.properties, c.created_at, c.updated_at, c.number, '{}'
  from unnest(incoming) as c order by c.id, c.number desc
  on conflict (workspace_id, id) do update set
    title = excluded.title, rating = excluded.rating, properties = excluded.properties,
    created_at = excluded.created_at, updated_at = excluded.updated_at, number = excluded.number
  where excluded.number > k.number;

  update conversation as k set contact_keys = more.keys
  from (
    select c.id, array(
      select key from unnest(held.contact_keys) as key
      union
      select key from unnest(incoming) as i, unnest(i.contact_keys) as key where i.id = c.id
      order by 1
    ) as keys
    from (select distinct id from unnest(incoming)) as c
    join conversation as held on held.workspace_id = ws and held.id = c.id
  ) as more
  where k.workspace_id = ws and k.id = more.id and k.contact_keys <> more.keys;
  perform derive_conversation_contacts(ws, touched);

  said := array(
    select distinct on (m.id) m from unnest(incoming_messages) as m
    where not exists (
      select from message as held where held.workspace_id = ws and held.id = m.id and held.number >= m.number
    )
    order by m.id, m.number desc
  );
  delete from unresolved_reference where workspace_id = ws and record_id = any (array(select id from unnest(said)));
  insert into message as k (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
    number, source, contact_ref)
  select ws, m.id, m.conversation_id, m.external_id, m.incoming, (resolve(ws, 'contact', m.contact_ref, m.number + 1, m.source)).id,
    m.content, m.source_url, m.raw_data, m.created_at, m.number, m.source, m.contact_ref
  from unnest(said) as m
  on conflict (workspace_id, id) do update set
    incoming = excluded.incoming, contact_id = excluded.contact_id, content = excluded.content,
    source_url = excluded.source_url, raw_data = excluded.raw_data, created_at = excluded.created_at,
    number = excluded.number, contact_ref = excluded.contact_ref;
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, u.ref_id, m.id, m.number + 1
  from unnest(said) as m, resolve(ws, 'contact', m.contact_ref, m.number + 1, m.source) as r, unnest(r.missed) as u (ref_id)
  on conflict do nothing;
end $$;

-- One workspace's part of a batch: {keys, claims, feedback, conversations, messages, submissions}, rows in the
-- tables' own shapes. Redelivery changes nothing.
create function store_workspace(ws uuid, batch jsonb) returns setof submission
  language plpgsql as $$
declare
  identities record;
  said record;
  changed uuid[] := '{}';
  appeared uuid[] := '{}';
  touched uuid[] := '{}';
  -- Delivered again although it was settled before: a purge may have removed it meanwhile, so nothing of it is looked at.
  settled bigint[] := array(
    select s.acceptance_number
    from jsonb_to_recordset(batch -> 'submissions') as d (id uuid)
    join submission as s on s.workspace_id = ws and s.id = d.id and s.state in ('applied', 'superseded', 'purged')
  );
begin
  if batch ? 'keys' then
    select * into identities from store_identities(
      ws,
      array(select k from jsonb_populate_recordset(null::identity_key, batch -> 'keys') as k where k.said_from <> all (settled)),
      array(select c from jsonb_populate_recordset(null::said_claim, batch -> 'claims') as c where c.number <> all (settled))
    );
    changed := identities.changed;
    appeared := identities.appeared;
    touched := identities.touched;
  end if;
  if batch ? 'conversations' then
    perform store_conversations(
      ws,
      array(select c from jsonb_populate_recordset(null::conversation, batch -> 'conversations') as c where c.number <> all (settled)),
      array(select m from jsonb_populate_recordset(null::message, batch -> 'messages') as m where m.number <> all (settled))
    );
  end if;
  if batch ? 'feedback' then
    said := store_feedback(ws, array(
      select f from jsonb_populate_recordset(null::feedback, batch -> 'feedback') as f where f.number <> all (settled)
    ));
    changed := changed || said.changed;
    appeared := appeared || said.appeared;
  end if;
  touched := touched || relink(ws, changed, appeared);
  if cardinality(touched) > 0 then
    perform gather(ws, touched);
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select ws, s.id, s.number, s.operation,
    case when f.number > s.number or c.number > s.number then 'superseded' else 'applied' end,
    s.attempts, now()
  from jsonb_to_recordset(batch -> 'submissions') as s (id uuid, number bigint, operation text, attempts int, record uuid)
  left join feedback as f on f.workspace_id = ws and f.id = s.record
  left join conversation as c on c.workspace_id = ws and c.id = s.record
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = null
  where k.state in ('queued', 'dead')
  returning k.*;
end $$;

create function store(batch jsonb) returns setof submission
  language plpgsql as $$
begin
  perform lock_workspaces(array(select key::uuid from jsonb_each(batch)));
  return query
  select stored.* from jsonb_each(batch) as b, store_workspace(b.key::uuid, b.value) as stored;
end $$;

-- Storing past fences, and purges in their place among other submissions.

create function resolve_unless_ended(ws uuid, r reference, ended uuid[]) returns resolution
  language sql stable
  return case
    when r.contact_id = any (ended) then row(r.contact_id, r.contact_given, '{}')::resolution
    else resolve(ws, 'contact', r.contact_ref, r.number, r.source)
  end;

create or replace function relink(ws uuid, changed uuid[], appeared uuid[]) returns uuid[]
  language plpgsql as $$
declare
  touched uuid[] := '{}';
  subjects uuid[];
  changed_text text[];
  moved relinked[];
  said record;
  -- Contacts whose purge is under way: what is theirs stays marked as theirs until it is gone.
  ended uuid[] := array(select unnest(contact_ids) from purge where workspace_id = ws);
begin
  while cardinality(changed) > 0 or cardinality(appeared) > 0 loop
    subjects := coalesce(reach(ws, changed), '{}');
    changed_text := changed::text[];
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
      from (
        select * from reference
        where workspace_id = ws and contact_id = any (subjects) and mentions(contact_ref, changed_text)
        union
        select * from reference
        where workspace_id = ws and account_id = any (subjects) and mentions(account_ref, changed_text)
        union
        select * from reference
        where workspace_id = ws and project_id = any (subjects) and mentions(project_ref, changed_text)
        union
        select r.* from unresolved_reference as u
        join reference as r on r.workspace_id = u.workspace_id and r.id = u.record_id and r.number = u.number
        where u.workspace_id = ws and u.ref_id = any (changed || appeared)
      ) as r,
      resolve_unless_ended(ws, r, ended) as c,
      resolve(ws, 'account', r.account_ref, r.number, r.source) as a,
      resolve(ws, 'project', r.project_ref, r.number, r.source) as p
      where (c.id, c.given, a.id, a.given, p.id, p.given)
        is distinct from (r.contact_id, r.contact_given, r.account_id, r.account_given, r.project_id, r.project_given)
    );
    update feedback as f
    set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
      contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
    from unnest(moved) as m where m.record = 'feedback' and f.workspace_id = ws and f.id = m.id;
    update superseded_reference as f
    set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
      contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
    from unnest(moved) as m where m.record = 'superseded' and f.workspace_id = ws and f.id = m.id and f.number = m.number;
    perform remove_before(ws, '{}', array(
      select t.conversation_id from unnest(moved) as m join message as t on t.workspace_id = ws and t.id = m.id where m.record = 'message'
    ));
    update message as f set contact_id = (m.contact).id
    from unnest(moved) as m where m.record = 'message' and f.workspace_id = ws and f.id = m.id;
    perform remember_unresolved(ws, m.id, m.number, (m.contact).missed || (m.account).missed || (m.project).missed)
    from unnest(moved) as m;
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

drop function store_workspace;

-- One part of a batch, {mentions, keys, claims, feedback, conversations, messages, submissions}, rows in the tables' own shapes.
-- Redelivery changes nothing.
create function store_part(ws uuid, part jsonb) returns setof submission
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
    from jsonb_to_recordset(part -> 'submissions') as d (id uuid)
    join submission as s on s.workspace_id = ws and s.id = d.id and s.state in ('applied', 'superseded', 'purged')
  );
begin
  perform remove_before(
    ws,
    array(select (f ->> 'id')::uuid from jsonb_array_elements(part -> 'feedback') as f),
    array(select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c)
  );
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
  touched := array(select t from unnest(touched) as t except select unnest(contact_ids) from purge where workspace_id = ws);
  if cardinality(touched) > 0 then
    perform gather(ws, touched);
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select ws, s.id, s.number, s.operation,
    case when s.number = any (fenced.refused) then 'purged' when f.number > s.number or c.number > s.number then 'superseded' else 'applied' end,
    s.attempts, now()
  from jsonb_to_recordset(part -> 'submissions') as s (id uuid, number bigint, operation text, attempts int, record uuid)
  left join feedback as f on f.workspace_id = ws and f.id = s.record
  left join conversation as c on c.workspace_id = ws and c.id = s.record
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = null
  where k.state in ('queued', 'dead')
  returning k.*;
end $$;

-- Workspaces with the parts of each in the order of acceptance: what is stored together, or one purge, which is decided when
-- all before it is stored. Purges are not settled by this.
create or replace function store(batch jsonb) returns setof submission
  language plpgsql as $$
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

-- The decision of a purge, in its place in the log, removes the contacts with all their keys. So no
-- later submission can reach these contacts. Their records are removed afterwards, in steps
-- (purge-remove.sql).

-- A row for each contact that a purge could match, with all its keys. Each row also has the
-- position of the workspace and the epoch of the external id. Without contacts, there is one row
-- with a null contact. A deleted workspace has no row.
create or replace function load_purge(ws uuid, wanted_key uuid, wanted_email text)
returns table ("position" bigint, epoch int, contact jsonb)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  c record;
begin
  select g.applied_number into "position" from workspace_progress as g where g.workspace_id = ws;
  if not found then return; end if;
  epoch := epoch_of(ws, wanted_key);
  for c in
    select k.id, k.email, d.is_meant
    from (
      select n.contact_id, bool_or(n.is_meant) as is_meant
      from (
        select e.contact_id, false as is_meant from contact_external_id as e where e.workspace_id = ws and e.key_id = wanted_key
        union all
        select m.contact_id, m.number > 0 and m.number = max(m.number) over ()
        from contact_email as m where m.workspace_id = ws and m.email = wanted_email
      ) as n group by n.contact_id
    ) as d cross join lateral (
      select x.id, x.email from contact as x where x.workspace_id = ws and x.id = d.contact_id limit 1
    ) as k
  loop
    contact := jsonb_build_object('id', c.id, 'email', c.email, 'isMeant', c.is_meant,
      'externalIds', external_ids_of(ws, c.id), 'emails', emails_of(ws, c.id));
    return next;
  end loop;
  if contact is null then return next; end if;
end $$;

create or replace function epoch_of(ws uuid, key uuid) returns int
  language plpgsql stable as $$
begin
  return coalesce((select p.epoch from purged_key as p where p.workspace_id = ws and p.key_id = key), 0);
end $$;

create or replace function external_ids_of(ws uuid, contact uuid) returns jsonb
  language plpgsql stable as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'source', e.source, 'externalId', e.external_id,
      'epoch', coalesce((select p.epoch from purged_key as p where p.workspace_id = ws and p.key_id = e.key_id), 0),
      'holders', array(select o.contact_id from contact_external_id as o where o.workspace_id = ws and o.key_id = e.key_id)
    )), '[]')
    from contact_external_id as e where e.workspace_id = ws and e.contact_id = contact
  );
end $$;

create or replace function emails_of(ws uuid, contact uuid) returns jsonb
  language plpgsql stable as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'email', m.email,
      'holders', array(
        select o.contact_id from contact_email as o where o.workspace_id = ws and o.email = m.email and o.number > 0)
    )), '[]')
    from contact_email as m where m.workspace_id = ws and m.contact_id = contact
  );
end $$;

-- Decides a purge and moves the position. `busy`: the position has changed, or the workspace is
-- deleted. `unmatched`: the purge found nothing, and its receipt says so. `decided`: the purge
-- found contacts, records that wait for the external id, or dead submissions. Steps then remove the
-- records.
create or replace function decide_purge(
  ws uuid, expected bigint,
  -- {id, number, acceptanceNumber, operation, identifiers, idempotencyKey, bodyHash}
  purge jsonb,
  -- As PurgedContacts in contract/identity/purge-keys.ts.
  contact_ids uuid[], ended_keys uuid[], keys uuid[], former_keys uuid[],
  -- The key of the external id for all sources, and this key in its epoch.
  id_key uuid, waiting_key uuid,
  -- The feedback that a deletion names.
  feedback_ids uuid[]
) returns text
  language plpgsql
  set enable_seqscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  at bigint := (purge ->> 'number')::bigint;
  aliases uuid[];
  named_keys uuid[];
  is_waited_for boolean;
  is_matched boolean;
begin
  update workspace_progress set applied_number = at where workspace_id = ws and applied_number = expected;
  if not found then return 'busy'; end if;
  aliases := array(select a.id from contact_alias as a where a.workspace_id = ws and a.contact_id = any (contact_ids));
  named_keys := keys || contact_ids || aliases;
  is_waited_for := exists (
    select from unresolved as u where u.workspace_id = ws and u.key_id = waiting_key and u.slot in ('c', 'm')
  );
  is_matched := cardinality(contact_ids || feedback_ids) > 0 or is_waited_for or exists (
    select from dead_submission as d where d.workspace_id = ws and d.keys && named_keys
  );
  perform note_purge(ws, purge, is_matched);
  if not is_matched then return 'unmatched'; end if;
  perform purge_contacts(ws, contact_ids);
  perform raise_epochs(ws, ended_keys || case when is_waited_for then id_key end, at);
  perform take_back_replays(ws, named_keys);
  insert into purge (workspace_id, id, number, contact_ids, unresolved_key, feedback_ids, keys, subject_ids, contacts)
  values (
    ws, (purge ->> 'id')::uuid, at, contact_ids, case when is_waited_for then waiting_key end, feedback_ids, named_keys,
    array_remove(former_keys || aliases || case when is_waited_for then waiting_key end, null), cardinality(contact_ids)
  );
  return 'decided';
end $$;

-- Writes the receipt of a purge. A purge that matched stays queued until its records are
-- removed. Any other purge is applied with all counts 0, and without a change position: by that,
-- `findProgress` in db/submissions/receipts.ts recognizes an unmatched purge.
create or replace function note_purge(ws uuid, purge jsonb, is_matched boolean) returns void
  language plpgsql as $$
begin
  update workspace_progress
  set applied = applied + (not is_matched)::int, purges = purges + is_matched::int
  where workspace_id = ws;
  -- The receipt is new: a worker skips a purge with a receipt, and a dead purge is never replayed.
  insert into submission (
    workspace_id, id, acceptance_number, operation, state, attempts, finished_at, counts, identifiers, idempotency_key, body_hash)
  values (
    ws, (purge ->> 'id')::uuid, (purge ->> 'acceptanceNumber')::bigint, purge ->> 'operation',
    case when is_matched then 'queued' else 'applied' end, 1, case when not is_matched then now() end,
    case when not is_matched then purge_counts(0, 0, 0, 0, 0) end,
    nullif(purge -> 'identifiers', 'null'), purge ->> 'idempotencyKey', purge ->> 'bodyHash'
  );
end $$;

-- The rows that a purge removed, by table, in the form of its receipt.
create or replace function purge_counts(
  contacts bigint, feedback bigint, messages bigint, conversations bigint, dead_submissions bigint
) returns jsonb
  language sql immutable parallel safe as $$
  select jsonb_build_object(
    'contacts', contacts, 'feedback', feedback, 'messages', messages, 'conversations', conversations,
    'deadSubmissions', dead_submissions)
$$;

-- Removes contacts with all their keys and aliases.
create or replace function purge_contacts(ws uuid, contacts uuid[]) returns void
  language plpgsql as $$
begin
  delete from contact where workspace_id = ws and id = any (contacts);
  perform add_tombstones(ws, 'customer', contacts);
  delete from contact_external_id where workspace_id = ws and contact_id = any (contacts);
  delete from contact_email where workspace_id = ws and contact_id = any (contacts);
  delete from contact_alias where workspace_id = ws and contact_id = any (contacts);
end $$;

create or replace function raise_epochs(ws uuid, ended uuid[], at bigint) returns void
  language plpgsql as $$
begin
  insert into purged_key as p (workspace_id, key_id, epoch, number)
  select g.workspace_id, k.id, 1, at
  from workspace_progress as g cross join (select distinct unnest(ended) as id) as k
  where g.workspace_id = ws and k.id is not null
  on conflict (workspace_id, key_id) do update set epoch = p.epoch + 1, number = excluded.number;
end $$;

-- Makes replays dead again that the purge has to reach. The worker applies a replay only while its
-- receipt is queued.
create or replace function take_back_replays(ws uuid, purged_keys uuid[]) returns void
  language plpgsql as $$
declare
  taken_back bigint;
begin
  with replayed as (
    update dead_submission as d set replayed_at = null
    where d.workspace_id = ws and d.keys && purged_keys and d.replayed_at is not null
    returning d.id, d.reason
  ), dead as (
    update submission as s set state = 'dead', error = r.reason, finished_at = now()
    from replayed as r where s.workspace_id = ws and s.id = r.id and s.state = 'queued'
    returning s.id
  )
  select count(*) into taken_back from dead;
  if taken_back > 0 then
    update workspace_progress set dead = dead + taken_back where workspace_id = ws;
  end if;
end $$;

-- Saves the changes of folded strides in one call for several workspaces: all or nothing. Each
-- table is one jsonb parameter `g_` (an array of objects, or null); `w` is the index of the
-- workspace in ws. db/apply/save.ts has the members. `ends`: the last change position of each
-- workspace in this save. `later`: the number of changes of the workspace after this row in the
-- save. The change position of the row is `ends[w] - later`.
--
-- Returns a row `busy` for each workspace that is deleted, or that another writer has locked or
-- moved. Then nothing is saved. Returns a row `moves` for each workspace that may have more
-- feedback to move (move.sql). Raises P0999 if contacts or accounts would have too many metadata
-- keys. The detail of the error names them.
--
-- The functions that `save` calls plan under the settings of `save`. They never update or delete by
-- a join: a plan that was made for an empty table would later read a whole workspace. So a frequent
-- update of many rows is an insert that always conflicts. Rare changes go record by record, or
-- workspace by workspace with `id = any (...)`.
create or replace function save(
  ws uuid[], waits boolean, g_progress jsonb,
  g_account jsonb, g_account_gone jsonb, g_account_alias jsonb, g_account_key jsonb, g_domain jsonb, g_account_name jsonb,
  g_contact jsonb, g_contact_gone jsonb, g_contact_alias jsonb, g_contact_key jsonb, g_email jsonb, g_email_gone jsonb,
  g_project jsonb, g_category jsonb, g_feedback jsonb, g_conversation jsonb, g_conversation_touched jsonb,
  g_conversation_contact jsonb,
  g_message jsonb, g_resolved jsonb, g_unresolved jsonb, g_receipt jsonb
) returns table (kind text, w integer)
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set join_collapse_limit = 1
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  locked integer[] := lock_at_positions(ws, waits, g_progress);
  ends bigint[];
  known uuid[];
begin
  if cardinality(locked) < cardinality(ws) then
    return query select 'busy', x.w::integer from generate_series(1, cardinality(ws)) as x (w) where x.w <> all (locked);
    return;
  end if;
  ends := advance_positions(ws, g_progress);

  if g_account is not null then perform save_accounts(ws, ends, g_account); end if;
  if g_account_gone is not null then perform end_accounts(ws, g_account_gone); end if;
  perform save_account_keys(ws, g_account_alias, g_account_key, g_domain, g_account_name);
  if g_contact is not null then perform save_contacts(ws, ends, g_contact); end if;
  if g_contact_gone is not null then perform end_contacts(ws, g_contact_gone, g_email_gone); end if;
  perform save_contact_keys(ws, g_contact_alias, g_contact_key, g_email);
  if g_project is not null then
    insert into project (workspace_id, id, name, first_number, change_position)
    select ws[r.w], r.id, r.name, r.first_number, ends[r.w] - r.later
    from jsonb_to_recordset(g_project) as r (w integer, id uuid, name text, first_number bigint, later integer);
  end if;

  if g_category is not null then
    insert into feedback_category as c (workspace_id, id, title, uses, change_position)
    select ws[r.w], category_id(ws[r.w], r.title), r.title, r.uses, ends[r.w] - r.later
    from jsonb_to_recordset(g_category) as r (w integer, title text, uses integer, later integer)
    order by ws[r.w], category_id(ws[r.w], r.title)
    on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
  end if;
  if g_feedback is not null then perform save_feedback(ws, ends, g_feedback); end if;
  if coalesce(g_conversation, g_conversation_touched) is not null then
    known := save_conversations(ws, ends, g_conversation, g_conversation_touched, g_conversation_contact);
    if g_message is not null then perform save_messages(ws, ends, g_message, known); end if;
  end if;
  if g_resolved is not null then perform link_resolved(ws, g_resolved); end if;
  if g_unresolved is not null then perform remember_unresolved(ws, g_unresolved); end if;
  if g_receipt is not null then perform save_receipts(ws, g_receipt); end if;

  if coalesce(g_contact_gone, g_account_gone) is not null then
    return query select distinct 'moves', moving.w from move_first(ws, g_contact_gone, g_account_gone) as moving (w);
  end if;
end $$;

-- Locks the workspaces that are at the expected position, in the order of their ids, and returns
-- their indices. waits: wait for a writer that has locked a workspace; otherwise leave this
-- workspace out.
create or replace function lock_at_positions(ws uuid[], waits boolean, g_progress jsonb) returns integer[]
  language plpgsql as $$
begin
  if waits then
    return array(
      select g.w
      from (select * from jsonb_to_recordset(g_progress) as r (w integer, expected bigint) order by ws[r.w]) as g
      cross join lateral (
        select from workspace_progress as p where p.workspace_id = ws[g.w] and p.applied_number = g.expected for update
      ) as locked
    );
  end if;
  return array(
    select g.w
    from (select * from jsonb_to_recordset(g_progress) as r (w integer, expected bigint) order by ws[r.w]) as g
    cross join lateral (
      select from workspace_progress as p where p.workspace_id = ws[g.w] and p.applied_number = g.expected for update skip locked
    ) as locked
  );
end $$;

-- Moves the positions, and reserves the change positions of the save. Returns the last of these for
-- each workspace (`ends`).
create or replace function advance_positions(ws uuid[], g_progress jsonb) returns bigint[]
  language plpgsql as $$
declare
  ends bigint[];
begin
  with moved_on as (
    insert into workspace_progress as p (workspace_id, applied_number, applied, superseded, change_position)
    select ws[g.w], g.position, g.applied, g.superseded, g.changes
    from jsonb_to_recordset(g_progress) as g (w integer, "position" bigint, applied integer, superseded integer, changes integer)
    on conflict (workspace_id) do update set
      applied_number = excluded.applied_number, applied = p.applied + excluded.applied,
      superseded = p.superseded + excluded.superseded,
      change_position = greatest(p.change_position, microseconds_now()) + excluded.change_position
    returning p.workspace_id, p.change_position
  )
  select array_agg(m.change_position order by array_position(ws, m.workspace_id)) into ends from moved_on as m;
  return ends;
end $$;

-- Links waiting records to a contact or account that got their external id. Before that, the
-- data of pending purges is removed from the conversations of waiting messages (purge-remove.sql
-- says why).
create or replace function link_resolved(ws uuid[], resolved jsonb) returns void
  language plpgsql as $$
declare
  place integer;
  waiting record;
begin
  if exists (select from purge where workspace_id = any (ws)) then
    for place in select distinct r.w from jsonb_to_recordset(resolved) as r (w integer) order by 1 loop
      perform remove_before_linking(ws[place], array(
        select r.key from jsonb_to_recordset(resolved) as r (w integer, key uuid) where r.w = place
      ));
    end loop;
  end if;
  for waiting in
    select ws[r.w] as workspace_id, r.key, r.target, u.slot, u.records
    from jsonb_to_recordset(resolved) as r (w integer, key uuid, target uuid)
    cross join lateral (
      select x.slot, array_agg(x.record_id) as records from unresolved as x
      where x.workspace_id = ws[r.w] and x.key_id = r.key group by x.slot
    ) as u
  loop
    perform link_records(waiting.workspace_id, waiting.slot, waiting.records, waiting.target);
    delete from unresolved as u
    where u.workspace_id = waiting.workspace_id and u.key_id = waiting.key and u.slot = waiting.slot;
  end loop;
end $$;

-- Links records to their contact (slots c and m) or account (a), record by record, since each gets
-- its own change position.
create or replace function link_records(ws uuid, slot "char", records uuid[], target uuid) returns void
  language plpgsql as $$
declare
  at bigint := reserve_positions(ws, cardinality(records));
  record uuid;
begin
  foreach record in array records loop
    at := at + 1;
    case slot
      when 'c' then update feedback set contact_id = target, change_position = at where workspace_id = ws and id = record;
      when 'a' then update feedback set account_id = target, change_position = at where workspace_id = ws and id = record;
      when 'm' then update message set contact_id = target, change_position = at where workspace_id = ws and id = record;
    end case;
  end loop;
end $$;

create or replace function remember_unresolved(ws uuid[], links jsonb) returns void
  language plpgsql as $$
begin
  insert into unresolved (workspace_id, key_id, slot, record_id)
  select ws[r.w], r.key, r.slot, r.record
  from jsonb_to_recordset(links) as r (w integer, key uuid, slot "char", record uuid);
end $$;

-- Moves the first feedback of absorbed contacts and accounts. If contacts, or accounts, may have
-- more, it notes all of this kind in pending_move, and returns the indices of their workspaces.
create or replace function move_first(ws uuid[], contacts jsonb, accounts jsonb) returns setof integer
  language plpgsql as $$
declare
  part record;
begin
  for part in
    select * from (values ('c'::"char", contacts), ('a', accounts)) as p (kind, gone) where p.gone is not null
  loop
    continue when move_feedback(ws, part.kind, part.gone) < move_limit();
    return query
      insert into pending_move (workspace_id, kind, old_id, new_id)
      select ws[r.w], part.kind, r.id, r.target from jsonb_to_recordset(part.gone) as r (w integer, id uuid, target uuid)
      returning array_position(ws, workspace_id);
  end loop;
end $$;

-- is_replay: the submission was dead or lost, and is applied under a later number. A submission
-- that was dead already has a receipt, in state `queued`. number: the submission's number at its
-- acceptance.
create or replace function save_receipts(ws uuid[], receipts jsonb) returns void
  language plpgsql as $$
declare
  replay record;
begin
  insert into submission as s (
    workspace_id, id, acceptance_number, operation, state, attempts, finished_at, idempotency_key, body_hash, subject_id)
  select ws[r.w], r.id, r.number, r.operation, r.state, 1, now(), r.key, r.body_hash, r.subject
  from jsonb_to_recordset(receipts) as r (
    w integer, id uuid, number bigint, operation text, state text, key text, body_hash text, subject uuid)
  on conflict (workspace_id, id) do update set
    state = excluded.state, finished_at = excluded.finished_at, error = null, subject_id = coalesce(excluded.subject_id, s.subject_id);
  for replay in select r.w, r.id from jsonb_to_recordset(receipts) as r (w integer, id uuid, is_replay boolean) where r.is_replay loop
    delete from dead_submission as d where d.workspace_id = ws[replay.w] and d.id = replay.id;
  end loop;
end $$;

-- The ids of rows, by the index of their workspace.
create or replace function ids_by_place(given jsonb) returns table (place integer, ids uuid[])
  language sql immutable as $$
  select r.w, array_agg(r.id) from jsonb_to_recordset(given) as r (w integer, id uuid) group by r.w order by r.w
$$;

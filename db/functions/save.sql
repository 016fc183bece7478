-- Saves the changes of folded segments: for each workspace all or nothing. advances: for each
-- workspace {workspace_id, expected, position, applied, superseded, feed_rows}, with the number of
-- its rows in the change feed. changes: for each table of `Changes` (fold/changes.ts) an array of
-- rows with their workspace_id. Rows of the change feed have a change_position of 0 or less,
-- counted from the last change position of the workspace in this save.
--
-- Returns the workspaces that it has saved, and whether they may have more records to move (move.sql).
-- The other workspaces are deleted, or another writer has locked or moved them. Raises P0999 if
-- contacts or accounts would have too many metadata keys. The detail of the error names them.
--
-- The functions that `save_several` calls plan under its settings. They never update or delete by a
-- join with stored rows: a plan that was made for an empty table would later read a whole
-- workspace. So a frequent update of many rows is an insert that always conflicts. Rare changes go
-- record by record, or workspace by workspace with `id = any (...)`.
create or replace function save_several(workspaces uuid[], advances jsonb, waits boolean, changes jsonb) returns table (workspace_id uuid, has_moves boolean)
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set join_collapse_limit = 1
  set plan_cache_mode = force_generic_plan
as $$
declare
  sole uuid[] := case when cardinality(workspaces) = 1 then workspaces end;
  locked uuid[];
  moving uuid[] := '{}';
begin
  locked := lock_at_positions(sole, advances, waits);
  if cardinality(locked) = 0 then return; end if;
  if cardinality(locked) < cardinality(workspaces) then
    -- Only the rows of locked workspaces stay.
    advances := rows_of(locked, jsonb_build_object('rows', advances)) -> 'rows';
    changes := rows_of(locked, changes);
  end if;
  perform advance_positions(sole, advances);
  perform save_profiles(sole, changes);
  if changes ? 'feedback_category' then perform add_uses(sole, changes -> 'feedback_category'); end if;
  if changes ? 'theme_edit' then perform save_themes(sole, changes -> 'theme_edit'); end if;
  if changes ? 'feedback' then
    perform forget_replaced(sole, changes -> 'feedback');
    perform put_feedback(sole, changes -> 'feedback');
  end if;
  if changes ? 'feedback_correction' then perform save_corrections(sole, changes -> 'feedback_correction'); end if;
  if changes ? 'source' then perform put_source(sole, changes -> 'source'); end if;
  if changes ?| array['conversation', 'conversation_touched'] then perform save_conversations(sole, changes); end if;
  if changes ? 'unresolved' then perform put_unresolved(sole, changes -> 'unresolved'); end if;
  if changes ? 'submission' then perform save_receipts(sole, changes -> 'submission'); end if;
  if changes ?| array['contact_gone', 'account_gone', 'resolved'] then moving := move_first(sole, changes); end if;
  return query select w.id, w.id = any (moving) from unnest(locked) as w (id);
end $$;

-- The same for one workspace, as `load`.
create or replace function save(ws uuid, advances jsonb, waits boolean, changes jsonb) returns table (workspace_id uuid, has_moves boolean)
  language plpgsql
  set enable_seqscan = off
as $$
begin
  return query select * from save_several(array[ws], advances, waits, changes);
end $$;

-- Locks the workspaces that are at the expected position, and returns them. sole, here and below:
-- as in load.sql. waits: wait for a writer that has locked a workspace; otherwise leave this
-- workspace out.
create or replace function lock_at_positions(sole uuid[], advances jsonb, waits boolean) returns uuid[]
  language plpgsql as $$
begin
  if waits then
    perform from jsonb_to_recordset(advances) as r (workspace_id uuid)
    join workspace_progress as p on p.workspace_id = r.workspace_id and (sole is null or p.workspace_id = any (sole))
    order by p.workspace_id for update of p;
  end if;
  return array(
    select p.workspace_id
    from jsonb_to_recordset(advances) as r (workspace_id uuid, expected bigint)
    join workspace_progress as p
      on p.workspace_id = r.workspace_id and (sole is null or p.workspace_id = any (sole)) and p.applied_number = r.expected
    for update of p skip locked
  );
end $$;

-- The rows of these workspaces.
create or replace function rows_of(workspaces uuid[], changes jsonb) returns jsonb
  language sql immutable as $$
  select coalesce(jsonb_object_agg(t.name, t.rows), '{}')
  from (
    select c.key as name, jsonb_agg(r.value) as rows
    from jsonb_each(changes) as c cross join lateral jsonb_array_elements(c.value) as r
    where (r.value ->> 'workspace_id')::uuid = any (workspaces)
    group by c.key
  ) as t
$$;

-- Moves the positions, and reserves the change positions of the save. The time is read first, since
-- an update in a sharded Postgres calls no volatile function.
create or replace function advance_positions(sole uuid[], advances jsonb) returns void
  language plpgsql as $$
declare
  now_at bigint := microseconds_now();
begin
  update workspace_progress as p set
    applied_number = r."position", applied = p.applied + r.applied, superseded = p.superseded + r.superseded,
    change_position = greatest(p.change_position, now_at) + r.feed_rows,
    saved_position = greatest(p.change_position, now_at) + r.feed_rows, unsummed = p.unsummed + r.feed_rows
  from jsonb_to_recordset(advances) as r (
    workspace_id uuid, "position" bigint, applied integer, superseded integer, feed_rows integer)
  where (sole is null or p.workspace_id = any (sole)) and p.workspace_id = r.workspace_id;
end $$;

-- Adds uses of tags.
create or replace function add_uses(sole uuid[], tags jsonb) returns void
  language plpgsql as $$
declare
  now_at timestamptz := clock_timestamp();
begin
  insert into feedback_category as c (workspace_id, id, title, uses, created_at, change_position)
  select g.workspace_id, category_id(r.workspace_id, r.title), r.title, r.uses, now_at, g.saved_position + r.change_position
  from jsonb_to_recordset(tags) as r (workspace_id uuid, title text, uses integer, change_position bigint)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
end $$;

-- Takes stored versions that these rows replace off the sums, and removes their tag uses, share and
-- unresolved references, and the similar id if the text is another one. former_tags: the tags of versions
-- that the segment itself has replaced. `add_uses` has added a use of each, and this function removes it
-- again. So each of these categories gets a
-- tombstone or a new change position: before a failover, such a version may have been stored, and a
-- consumer of the change feed may have seen its categories. A feedback without an id in its source
-- replaces another one only as a replay. Tags that a person has set stay, so the tags of the new
-- version are not in use. The segment may also undo this correction and then replace the record, so
-- the tags that the source sent before count as gained and lost.
create or replace function forget_replaced(sole uuid[], records jsonb) returns void
  language plpgsql as $$
declare
  ws uuid;
  gone text[];
  sent text[];
  replaced uuid[];
  unlike uuid[];
begin
  for ws, gone, sent, replaced, unlike in
    select r.workspace_id, array_agg(t.title) filter (where t.title is not null),
      array_agg(t.title) filter (where t.was_sent),
      array_agg(distinct f.id) filter (where f.id is not null),
      array_agg(distinct f.id) filter (where f.similar_id is not null and f.is_other_text)
    from jsonb_to_recordset(records) as r (
      workspace_id uuid, id uuid, source_id text, newest_number bigint, title text, description text, tags text[], former_tags text[])
    left join lateral (
      select x.id, x.tags, x.corrections ? 'tags' as is_corrected, tags_in(x.uncorrected -> 'tags') as sent, x.similar_id,
        (x.title, x.description) is distinct from (r.title, r.description) as is_other_text
      from feedback as x
      where x.workspace_id = r.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = r.id limit 1
    ) as f on true
    left join lateral (
      select u.title, false as was_sent from unnest(case when f.is_corrected then r.tags else f.tags end || r.former_tags) as u (title)
      union all select u.title, true from unnest(f.sent) as u (title) where f.is_corrected
    ) as t on true
    where (r.source_id is not null or r.newest_number is not null) and (f.id is not null or r.former_tags is not null)
    group by r.workspace_id
  loop
    perform take_off_sums(ws, coalesce(replaced, '{}'));
    perform forget_unresolved(ws, coalesce(replaced, '{}'));
    perform forget_shares(ws, coalesce(replaced, '{}'));
    perform count_tags(ws, coalesce(sent, '{}'), coalesce(gone, '{}'));
    perform end_similar(ws, coalesce(unlike, '{}'));
  end loop;
end $$;

-- Conversations that are replaced or new, and touched ones, which an older submission only adds to.
-- A tagger has to read both again, since their texts may change. The unresolved references of
-- replaced messages go: those of conversations that existed before. So do the texts of the search
-- index that are replaced by other ones.
create or replace function save_conversations(sole uuid[], changes jsonb) returns void
  language plpgsql as $$
declare
  titled record;
  known uuid[] := array(select r.id from jsonb_to_recordset(changes -> 'conversation_touched') as r (id uuid)) || array(
    select c.id from jsonb_to_recordset(changes -> 'conversation') as r (workspace_id uuid, id uuid)
    cross join lateral (
      select x.id from conversation as x
      where x.workspace_id = r.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.id = r.id limit 1
    ) as c
  );
  replaced record;
  touch record;
begin
  for replaced in
    select m.workspace_id, array_agg(m.id) as messages, array_agg(m.id) filter (where x.content <> m.content) as changed
    from jsonb_to_recordset(changes -> 'message') as m (workspace_id uuid, id uuid, conversation_id uuid, content text)
    left join lateral (
      select k.content from message as k
      where k.workspace_id = m.workspace_id and (sole is null or k.workspace_id = any (sole)) and k.id = m.id limit 1
    ) as x on true
    where m.conversation_id = any (known)
    group by m.workspace_id
  loop
    perform forget_unresolved(replaced.workspace_id, replaced.messages);
    perform forget_texts(replaced.workspace_id, coalesce(replaced.changed, '{}'));
  end loop;
  for titled in
    select r.workspace_id, array_agg(r.id) as conversations
    from jsonb_to_recordset(changes -> 'conversation') as r (workspace_id uuid, id uuid, title text)
    cross join lateral (
      select k.title from conversation as k
      where k.workspace_id = r.workspace_id and (sole is null or k.workspace_id = any (sole)) and k.id = r.id limit 1
    ) as x
    where x.title is distinct from r.title
    group by r.workspace_id
  loop
    perform forget_texts(titled.workspace_id, titled.conversations);
  end loop;
  if changes ? 'conversation' then perform put_conversation(sole, changes -> 'conversation'); end if;
  for touch in
    select r.workspace_id, r.id, r.latest_version, g.saved_position + r.change_position as at
    from jsonb_to_recordset(changes -> 'conversation_touched') as r (
      workspace_id uuid, id uuid, latest_version timestamptz, change_position bigint)
    join workspace_progress as g on g.workspace_id = r.workspace_id
    where (sole is null or g.workspace_id = any (sole))
  loop
    update conversation as c set
      latest_version = greatest(c.latest_version, touch.latest_version), tagger_version = null, change_position = touch.at
    where c.workspace_id = touch.workspace_id and c.id = touch.id;
  end loop;
  if changes ? 'conversation_contact' then perform put_conversation_contact(sole, changes -> 'conversation_contact'); end if;
  if changes ? 'message' then perform put_message(sole, changes -> 'message'); end if;
end $$;

-- Removes the unresolved references of records, in all slots, record by record. A plan for an
-- array, or with the slot, would read all waiting records of the workspace.
create or replace function forget_unresolved(ws uuid, records uuid[]) returns void
  language plpgsql as $$
declare
  record uuid;
begin
  foreach record in array records loop
    delete from unresolved as u where u.workspace_id = ws and u.record_id = record;
  end loop;
end $$;

-- is_replay: the submission was dead or lost, and is applied under a later number. A submission
-- that was dead already has a receipt, in state `queued`. acceptance_number: the submission's
-- number at its acceptance.
create or replace function save_receipts(sole uuid[], receipts jsonb) returns void
  language plpgsql as $$
declare
  replay record;
  now_at timestamptz := now();
begin
  insert into submission as s (
    workspace_id, id, acceptance_number, operation, state, attempts, finished_at, idempotency_key, body_hash, subject_id)
  select g.workspace_id, r.id, r.acceptance_number, r.operation, r.state, 1, now_at, r.idempotency_key, r.body_hash, r.subject_id
  from jsonb_to_recordset(receipts) as r (
    workspace_id uuid, id uuid, acceptance_number bigint, operation text, state text, idempotency_key text, body_hash text,
    subject_id uuid)
  join workspace_progress as g on g.workspace_id = r.workspace_id
  where (sole is null or g.workspace_id = any (sole))
  on conflict (workspace_id, id) do update set
    state = excluded.state, finished_at = excluded.finished_at, error = null, subject_id = coalesce(excluded.subject_id, s.subject_id);
  for replay in
    select r.workspace_id, r.id from jsonb_to_recordset(receipts) as r (workspace_id uuid, id uuid, is_replay boolean) where r.is_replay
  loop
    delete from dead_submission as d where d.workspace_id = replay.workspace_id and d.id = replay.id;
  end loop;
end $$;

-- The steps that a save leaves to do. Records of an absorbed contact (kind c) or account (kind a)
-- move to the absorber. Records that wait for an external id (kind r) get the contact or account
-- that has got it. `save` moves the first move_limit() records, and `move_step` the rest. Until
-- then, the workspace applies nothing else, and the submissions of the save read as queued
-- (`stateOf` in db/submissions/receipts.ts).

create or replace function move_limit() returns integer
  language sql immutable parallel safe as 'select 1000';

-- Moves at most `most` records. Returns how many.
create or replace function move_records(ws uuid, kind "char", old_id uuid, new_id uuid, most integer) returns integer
  language plpgsql as $$
declare
  ids uuid[];
  before bigint;
begin
  if kind = 'r' then return link_waiting(ws, old_id, new_id, most); end if;
  if kind = 'c' then
    ids := array(select f.id from feedback as f where f.workspace_id = ws and f.contact_id = old_id limit most);
  else
    ids := array(select f.id from feedback as f where f.workspace_id = ws and f.account_id = old_id limit most);
  end if;
  if cardinality(ids) = 0 then return 0; end if;
  perform take_off_sums(ws, ids);
  before := reserve_positions(ws, cardinality(ids));
  update feedback as f set
    contact_id = case when move_records.kind = 'c' then new_id else f.contact_id end,
    account_id = case when move_records.kind = 'a' then new_id else f.account_id end,
    change_position = before + array_position(ids, f.id)
  where f.workspace_id = ws and f.id = any (ids);
  return cardinality(ids);
end $$;

-- Links records to the contact (slots c and m) or account (slot a) that they wait for, record by
-- record, since each gets its own change position.
create or replace function link_waiting(ws uuid, key uuid, target uuid, most integer) returns integer
  language plpgsql as $$
declare
  slots "char"[];
  records uuid[];
  at bigint;
  of_slot "char";
  record uuid;
begin
  select array_agg(u.slot), array_agg(u.record_id) into slots, records
  from (select x.slot, x.record_id from unresolved as x where x.workspace_id = ws and x.key_id = key limit most) as u;
  if records is null then return 0; end if;
  perform take_off_sums(ws, records);
  at := reserve_positions(ws, cardinality(records));
  for place in 1 .. cardinality(records) loop
    of_slot := slots[place];
    record := records[place];
    at := at + 1;
    case of_slot
      when 'c' then update feedback set contact_id = target, change_position = at where workspace_id = ws and id = record;
      when 'a' then update feedback set account_id = target, change_position = at where workspace_id = ws and id = record;
      when 'm' then update message set contact_id = target, change_position = at where workspace_id = ws and id = record;
    end case;
    delete from unresolved where workspace_id = ws and key_id = key and slot = of_slot and record_id = record;
  end loop;
  return cardinality(records);
end $$;

-- Moves the first records, in a save, and notes in pending_move the moves that may have more. Returns
-- the workspaces of the noted moves. sole: as in load.sql.
create or replace function move_first(sole uuid[], changes jsonb) returns uuid[]
  language plpgsql as $$
declare
  move record;
  moved integer := 0;
  moving uuid[] := '{}';
  now_at timestamptz := now();
begin
  for move in
    select 'c'::"char" as kind, r.workspace_id, r.id as old_id, r.target as new_id
    from jsonb_to_recordset(changes -> 'contact_gone') as r (workspace_id uuid, id uuid, target uuid)
    union all
    select 'a', r.workspace_id, r.id, r.target
    from jsonb_to_recordset(changes -> 'account_gone') as r (workspace_id uuid, id uuid, target uuid)
    union all
    select 'r', r.workspace_id, r.key_id, r.target
    from jsonb_to_recordset(changes -> 'resolved') as r (workspace_id uuid, key_id uuid, target uuid)
    cross join lateral (
      select from unresolved as x
      where x.workspace_id = r.workspace_id and (sole is null or x.workspace_id = any (sole)) and x.key_id = r.key_id limit 1
    ) as u
  loop
    moved := moved + move_records(move.workspace_id, move.kind, move.old_id, move.new_id, move_limit() - moved);
    continue when moved < move_limit();
    insert into pending_move (workspace_id, kind, old_id, new_id, saved_at)
    values (move.workspace_id, move.kind, move.old_id, move.new_id, now_at);
    moving := moving || move.workspace_id;
  end loop;
  return moving;
end $$;

-- Moves a step of the records that are left in a workspace. Returns whether more may be left.
create or replace function move_step(ws uuid) returns boolean
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  move record;
  moved integer := 0;
begin
  if not lock_progress(ws) then return false; end if;
  for move in
    select p.kind, p.old_id, p.new_id from pending_move as p
    where p.workspace_id = ws order by p.kind, p.old_id limit move_limit()
  loop
    moved := moved + move_records(ws, move.kind, move.old_id, move.new_id, move_limit() - moved);
    if moved >= move_limit() then return true; end if;
    delete from pending_move as p where p.workspace_id = ws and p.kind = move.kind and p.old_id = move.old_id;
  end loop;
  return exists (select from pending_move as p where p.workspace_id = ws);
end $$;

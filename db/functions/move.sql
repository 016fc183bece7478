-- Feedback of an absorbed contact or account moves to the absorber. `save` moves the first
-- move_limit() feedback of contacts and as many of accounts. Further steps move the rest, and the
-- workspace applies nothing else until then.

create or replace function move_limit() returns integer
  language sql immutable parallel safe as 'select 1000';

-- Moves at most move_limit() feedback of these contacts (kind c) or accounts (kind a). Returns how
-- many. gone: [{w, id, target}].
create or replace function move_feedback(ws uuid[], kind "char", gone jsonb) returns integer
  language plpgsql as $$
declare
  moved integer := 0;
  move record;
  ids uuid[];
  before bigint;
begin
  for move in select ws[r.w] as workspace_id, r.id, r.target from jsonb_to_recordset(gone) as r (w integer, id uuid, target uuid) loop
    ids := case kind
      when 'c' then array(
        select f.id from feedback as f
        where f.workspace_id = move.workspace_id and f.contact_id = move.id limit move_limit() - moved)
      else array(
        select f.id from feedback as f
        where f.workspace_id = move.workspace_id and f.account_id = move.id limit move_limit() - moved)
    end;
    before := reserve_positions(move.workspace_id, cardinality(ids));
    update feedback as f set
      contact_id = case kind when 'c' then move.target else f.contact_id end,
      account_id = case kind when 'a' then move.target else f.account_id end,
      change_position = before + array_position(ids, f.id)
    where f.workspace_id = move.workspace_id and f.id = any (ids);
    moved := moved + cardinality(ids);
    exit when moved >= move_limit();
  end loop;
  return moved;
end $$;

-- Moves one step of the remaining feedback of a workspace. Returns whether more may remain.
create or replace function move_step(ws uuid) returns boolean
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  move pending_move;
  gone jsonb;
  moved integer;
begin
  if not lock_progress(ws) then return false; end if;
  select * into move from pending_move where workspace_id = ws order by kind, old_id limit 1;
  if not found then return false; end if;
  gone := jsonb_build_array(jsonb_build_object('w', 1, 'id', move.old_id, 'target', move.new_id));
  moved := move_feedback(array[ws], move.kind, gone);
  if moved < move_limit() then
    delete from pending_move where workspace_id = ws and kind = move.kind and old_id = move.old_id;
  end if;
  return exists (select from pending_move where workspace_id = ws);
end $$;

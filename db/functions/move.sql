-- Feedback of an absorbed contact or account moves to the absorber. `save` moves the first
-- move_limit() feedback of contacts and as many of accounts. Further steps move the rest. The
-- workspace applies nothing else until then.

create or replace function move_limit() returns integer
  language sql immutable parallel safe as 'select 1000';

-- Moves at most move_limit() feedback of these contacts (kind c) or accounts (kind a). Returns how
-- many. gone: [{workspace_id, id, target}].
create or replace function move_feedback(kind text, gone jsonb) returns integer
  language plpgsql as $$
declare
  moved integer := 0;
  move record;
  ids uuid[];
  before bigint;
begin
  for move in select r.workspace_id, r.id, r.target from jsonb_to_recordset(gone) as r (workspace_id uuid, id uuid, target uuid) loop
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
      contact_id = case when kind = 'c' then move.target else f.contact_id end,
      account_id = case when kind = 'a' then move.target else f.account_id end,
      change_position = before + array_position(ids, f.id)
    where f.workspace_id = move.workspace_id and f.id = any (ids);
    moved := moved + cardinality(ids);
    exit when moved >= move_limit();
  end loop;
  return moved;
end $$;

-- Moves the first feedback of absorbed contacts and accounts, in a save. If contacts, or accounts,
-- may have more, notes all of this kind in pending_move. Returns the workspaces of noted ones.
create or replace function move_first(changes jsonb) returns uuid[]
  language plpgsql as $$
declare
  part record;
  gone record;
  moving uuid[] := '{}';
begin
  for part in
    select * from (values ('c', changes -> 'contact_gone'), ('a', changes -> 'account_gone')) as p (kind, gone)
    where p.gone is not null
  loop
    continue when move_feedback(part.kind, part.gone) < move_limit();
    for gone in select * from jsonb_to_recordset(part.gone) as r (workspace_id uuid, id uuid, target uuid) loop
      insert into pending_move (workspace_id, kind, old_id, new_id)
      values (gone.workspace_id, part.kind::"char", gone.id, gone.target);
      moving := moving || gone.workspace_id;
    end loop;
  end loop;
  return moving;
end $$;

-- Moves one step of the remaining feedback of a workspace. Returns whether there was any to move.
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
  gone jsonb;
begin
  if not lock_progress(ws) then return false; end if;
  select p.kind::text as kind, p.old_id, p.new_id into move from pending_move as p
  where p.workspace_id = ws order by p.kind, p.old_id limit 1;
  if not found then return false; end if;
  gone := jsonb_build_array(jsonb_build_object('workspace_id', ws, 'id', move.old_id, 'target', move.new_id));
  if move_feedback(move.kind, gone) < move_limit() then
    delete from pending_move as p where p.workspace_id = ws and p.kind = move.kind::"char" and p.old_id = move.old_id;
  end if;
  return true;
end $$;

-- The change feed of a workspace. Every readable record has a change position, and each change
-- gives it a new one. A deleted record leaves a tombstone.
--
-- A transaction that gives change positions locks the workspace's progress row until it ends. So
-- the positions become visible in their order: a consumer that has seen a position has seen all
-- lower ones. A position is at least the time in microseconds. So, while clocks agree, a standby
-- that is promoted without the last commits does not give a position again.

-- Reserves positions and returns the position before the first. The caller holds the lock.
create or replace function reserve_positions(ws uuid, how_many bigint) returns bigint
  language plpgsql
  set enable_seqscan = off
as $$
declare
  at bigint := microseconds_now();
  before bigint;
begin
  update workspace_progress set
    change_position = greatest(change_position, at) + how_many, unsummed = unsummed + how_many
  where workspace_id = ws
  returning change_position - how_many into before;
  return before;
end $$;

create or replace function microseconds_now() returns bigint
  language sql volatile parallel safe
  return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

create or replace function add_tombstones(ws uuid, of_kind text, ids uuid[]) returns void
  language plpgsql as $$
declare
  before bigint;
begin
  if cardinality(ids) = 0 then return; end if;
  before := reserve_positions(ws, cardinality(ids));
  insert into tombstone (workspace_id, position, kind, record_id)
  select g.workspace_id, before + i.place, of_kind, i.id
  from workspace_progress as g cross join unnest(ids) with ordinality as i (id, place)
  where g.workspace_id = ws;
end $$;

-- Deletes at most `most` tombstones below a position. Returns how many.
create or replace function expire_tombstones(ws uuid, older_than bigint, most integer) returns integer
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  expired bigint[];
  up_to bigint;
begin
  if not lock_progress(ws) then return 0; end if;
  expired := array(
    select t.position from tombstone as t where t.workspace_id = ws and t.position < older_than order by t.position limit most);
  if cardinality(expired) = 0 then return 0; end if;
  up_to := expired[cardinality(expired)];
  delete from tombstone where workspace_id = ws and position <= up_to;
  update workspace_progress set forgotten_position = up_to where workspace_id = ws;
  return cardinality(expired);
end $$;

-- The next changes of a workspace after a position, in order, with the current records. Each row
-- has the last and the forgotten position of the workspace; the first row has no change. gone: the
-- record is a tombstone. The rows end at the record that would exceed `most_bytes` in total: its row
-- has no record, but is not gone. The first change always comes.
create or replace function read_changes(ws uuid, after bigint, most integer, most_bytes bigint)
returns table (
  last bigint, forgotten bigint, "position" bigint, kind text, id uuid, gone boolean, merged_into uuid, record text)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_sort = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  page record;
  records text[];
begin
  select g.change_position, g.forgotten_position into last, forgotten from workspace_progress as g where g.workspace_id = ws;
  if not found then return; end if;
  return next;
  -- No record has the kind null, so that a tombstone is not read.
  select array_agg(c.at) as positions, array_agg(c.kind) as kinds,
    array_agg(case when not c.gone then c.kind end) as read_kinds, array_agg(c.id) as ids
  into page
  from (
    (select r.change_position, 'feedback', r.id, false from feedback as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'customer', r.id, false from contact as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'account', r.id, false from account as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'project', r.id, false from project as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'theme', r.id, false from theme as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'alert', r.id, false from alert as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'digest', r.id, false from digest as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'feedback_category', r.id, false from feedback_category as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'conversation', r.id, false from conversation as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select r.change_position, 'message', r.id, false from message as r
      where r.workspace_id = ws and r.change_position > after order by r.change_position limit most)
    union all (select t.position, t.kind, t.record_id, true from tombstone as t
      where t.workspace_id = ws and t.position > after order by t.position limit most)
    order by 1 limit most
  ) as c (at, kind, id, gone);
  if page.ids is null then return; end if;
  records := array(select r.record from read_records(ws, page.read_kinds, page.ids, most_bytes) as r order by r.place);
  for place in 1 .. least(cardinality(records) + 1, cardinality(page.ids)) loop
    "position" := page.positions[place];
    kind := page.kinds[place];
    id := page.ids[place];
    gone := page.read_kinds[place] is null;
    merged_into := case when gone then nullif(current_id(ws, kind, id), id) end;
    record := records[place];
    return next;
  end loop;
end $$;

-- Deleting a workspace (table deleted_workspace). Whoever writes what belongs to one looks, under its lock, whether it is deleted:
-- so nothing of it comes after begin_deletion has had the lock.

create or replace function is_deleted(ws uuid) returns boolean
  language sql stable as $$
  select exists (select from deleted_workspace where id = ws)
$$;

-- Returns how many milliseconds ago the deletion began; begun again, it goes on.
create or replace function begin_deletion(ws uuid) returns double precision
  language plpgsql as $$
begin
  perform lock_workspaces(array[ws]);
  insert into deleted_workspace (id) values (ws) on conflict do nothing;
  delete from token where workspace_id = ws;
  return (select extract(epoch from clock_timestamp() - deleted_at) * 1000 from deleted_workspace where id = ws);
end $$;

-- One step: at most `most` rows of a table. Returns how many.
create or replace function delete_rows(of_table text, ws uuid, most int) returns int
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  deleted int;
begin
  execute format(
    'delete from %1$I where workspace_id is not distinct from $1
     and ctid = any (array(select ctid from %1$I where workspace_id = $1 limit $2))',
    of_table
  ) using ws, most;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

-- What storing comes to for submissions of deleted workspaces, of a batch as `store` gets it.
create or replace function purged_with(deleted text[], batch jsonb) returns setof submission
  language sql stable as $$
  select s.*
  from unnest(deleted) as d (ws),
    jsonb_array_elements(batch -> d.ws) as p (part),
    lateral (
      select f ->> 'submission' as id from jsonb_array_elements(part -> 'feedback') as f
      union all
      select o ->> 'id' from jsonb_array_elements(part -> 'submissions') as o
    ) as said,
    jsonb_populate_record(
      null::submission, jsonb_build_object('workspace_id', d.ws, 'id', said.id, 'state', 'purged')
    ) as s
$$;

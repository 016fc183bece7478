-- Creates a webhook that gets the changes after `after`, or after the last change if that is null.
-- Returns its id; null if the workspace is deleted.
create or replace function create_webhook(ws uuid, of_url text, after bigint) returns uuid
  language plpgsql
  set enable_seqscan = off
as $$
declare
  new_id uuid := gen_random_uuid();
  last bigint;
begin
  if not lock_progress(ws) then return null; end if;
  select g.change_position into last from workspace_progress as g where g.workspace_id = ws;
  insert into webhook (workspace_id, id, url, state, position) values (ws, new_id, of_url, 'active', coalesce(after, last));
  return new_id;
end $$;

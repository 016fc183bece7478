-- Creates a webhook that gets the changes after `after`, or after the last change if that is null.
-- Returns its id; null if the workspace is deleted.
create or replace function create_webhook(
  ws uuid, of_url text, after bigint, of_kinds text[], of_filter jsonb, holds boolean, of_format text
) returns uuid
  language plpgsql
  set enable_seqscan = off
as $$
declare
  new_id uuid := gen_random_uuid();
  last bigint;
begin
  if not lock_progress(ws) then return null; end if;
  select g.change_position into last from workspace_progress as g where g.workspace_id = ws;
  insert into webhook (workspace_id, id, url, state, position, kinds, filter, hold_until_tagged, format)
  values (ws, new_id, of_url, 'active', coalesce(after, last), of_kinds, of_filter, holds, of_format);
  return new_id;
end $$;

-- Notes the outcomes of deliveries: the new place and condition of the webhook, and each change that
-- was sent (`DeliveryRound` in db/deliveries.ts). A change without a fault is settled. Does nothing if the
-- webhook has another place than `seen`, or another state, by then.
create or replace function note_deliveries(ws uuid, hook uuid, seen bigint, round jsonb) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  noted_at constant timestamptz := clock_timestamp();
  next_at timestamptz := noted_at + (round ->> 'pauseMs')::float8 * interval '1 millisecond';
  receiver constant text := round ->> 'receiver';
  sent record;
begin
  -- On Citus, a CASE that compares a parameter is sent to a node in a form that it does not know.
  update webhook as h set position = (round ->> 'position')::bigint, pass_since = (round ->> 'passSince')::bigint,
    state = round ->> 'state', delivered = h.delivered + (round ->> 'confirmed')::bigint, next_attempt_at = next_at,
    attempts = case when receiver = 'well' then 0 when receiver = 'failing' then h.attempts + 1 else h.attempts end,
    failing_since = case when receiver = 'well' then null when receiver = 'failing' then least(h.failing_since, noted_at)
      else h.failing_since end,
    fault = case when receiver = 'well' then null when receiver = 'failing' then round ->> 'fault' else h.fault end
  where h.workspace_id = ws and h.id = hook and h.state = 'active' and h.position = seen;
  if not found then return; end if;
  for sent in
    select s.* from jsonb_to_recordset(round -> 'sent') as s (
      kind text, id uuid, "position" bigint, "isTombstone" boolean, "isLarge" boolean, attempts int, fault text, "pauseMs" float8)
  loop
    if sent.fault is null then
      delete from undelivered_change as u
      where u.workspace_id = ws and u.webhook_id = hook and u.kind = sent.kind and u.record_id = sent.id
        and u.position <= sent.position;
    else
      next_at := noted_at + sent."pauseMs" * interval '1 millisecond';
      insert into undelivered_change as u (
        workspace_id, webhook_id, kind, record_id, position, is_tombstone, is_large, attempts, failing_since,
        next_attempt_at, fault)
      values (
        ws, hook, sent.kind, sent.id, sent.position, sent."isTombstone", sent."isLarge", sent.attempts, noted_at,
        next_at, sent.fault)
      on conflict (workspace_id, webhook_id, kind, record_id) do update set position = excluded.position,
        is_tombstone = excluded.is_tombstone, is_large = excluded.is_large, attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at,
        fault = excluded.fault,
        failing_since = case when u.position = excluded.position then u.failing_since else excluded.failing_since end
      where u.position <= excluded.position;
    end if;
  end loop;
end $$;

-- Sets the state of a webhook by hand. The webhook goes on after the change position `after`, unless
-- that is null. An active webhook tries its undelivered changes again. Those after `after` come again
-- anyway. Returns whether the webhook exists.
create or replace function set_webhook_state(ws uuid, hook uuid, to_state text, after bigint) returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
declare
  set_at constant timestamptz := clock_timestamp();
begin
  update webhook as h set state = to_state, position = coalesce(after, h.position),
    pass_since = case when after is null then h.pass_since end, attempts = 0, failing_since = null, fault = null,
    next_attempt_at = set_at
  where h.workspace_id = ws and h.id = hook;
  if not found then return false; end if;
  delete from undelivered_change as u where u.workspace_id = ws and u.webhook_id = hook and u.position > after;
  if to_state = 'active' then
    update undelivered_change as u set attempts = 0, failing_since = set_at, next_attempt_at = set_at
    where u.workspace_id = ws and u.webhook_id = hook;
  end if;
  return true;
end $$;

create or replace function delete_webhook(ws uuid, hook uuid) returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
begin
  delete from webhook as h where h.workspace_id = ws and h.id = hook;
  if not found then return false; end if;
  delete from undelivered_change as u where u.workspace_id = ws and u.webhook_id = hook;
  return true;
end $$;

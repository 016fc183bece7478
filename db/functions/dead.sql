-- Dead submissions, which workers have given up (table dead_submission).

-- Sets a submission aside and moves the position. Returns false if the position has changed or the
-- workspace is deleted. given: {id, number, originalNumber, operation, attempts, reason, mayPass, keys,
-- idempotencyKey, bodyHash}. mayPass: the fault may pass, so maintenance replays the submission after
-- a minute, after ten minutes and after an hour.
create or replace function set_aside(ws uuid, expected bigint, given jsonb, dead_text text) returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
declare
  dead_id uuid := (given ->> 'id')::uuid;
  dead_keys uuid[] := array(select jsonb_array_elements_text(given -> 'keys')::uuid);
  pauses interval[] := '{1 minute,10 minutes,1 hour}';
  deaths_now integer;
  next_retry timestamptz;
begin
  update workspace_progress set applied_number = (given ->> 'number')::bigint
  where workspace_id = ws and applied_number = expected;
  if not found then return false; end if;
  -- A replay already has a receipt. If the receipt is not queued, the replay has ended: a purge may
  -- have taken it back.
  if exists (select from submission where workspace_id = ws and id = dead_id and state <> 'queued') then return true; end if;
  insert into submission as s (
    workspace_id, id, acceptance_number, operation, state, attempts, finished_at, error, idempotency_key, body_hash)
  values (
    ws, dead_id, coalesce(given ->> 'originalNumber', given ->> 'number')::bigint, given ->> 'operation', 'dead',
    (given ->> 'attempts')::int, now(), given ->> 'reason', given ->> 'idempotencyKey', given ->> 'bodyHash'
  )
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = excluded.error;
  deaths_now := 1 + coalesce((select d.deaths from dead_submission as d where d.workspace_id = ws and d.id = dead_id), 0);
  if (given ->> 'mayPass')::boolean then next_retry := now() + pauses[deaths_now]; end if;
  insert into dead_submission (workspace_id, id, reason, submission, keys, deaths, retry_at)
  values (ws, dead_id, given ->> 'reason', dead_text, dead_keys, deaths_now, next_retry)
  on conflict (workspace_id, id) do update
  set reason = excluded.reason, died_at = excluded.died_at, deaths = excluded.deaths, retry_at = excluded.retry_at,
    replayed_at = null;
  update workspace_progress set dead = workspace_progress.dead + 1 where workspace_id = ws;
  return true;
end $$;

-- Marks a dead submission as queued and returns its text, or says why it is not replayed. `queued`
-- without a text: it was queued before.
-- `being-purged`: a later purge of its contacts is under way, and will remove their data.
-- `undecided-purge`: a dead purge has lost its place in the order, and would remove data that was
-- accepted since.
create or replace function replay_dead(ws uuid, dead_id uuid, out outcome text, out dead_text text)
  language plpgsql
  set enable_seqscan = off
as $$
declare
  d record;
begin
  outcome := 'unknown';
  if not lock_progress(ws) then return; end if;
  -- The row lock waits for a statement of `dropDead` that has begun.
  select dead.submission, dead.keys, s.operation, s.state, s.acceptance_number into d
  from dead_submission as dead join submission as s on s.workspace_id = dead.workspace_id and s.id = dead.id
  where dead.workspace_id = ws and dead.id = dead_id and s.workspace_id = ws
  for update of dead;
  if not found then return; end if;
  if d.state = 'queued' then
    outcome := 'queued';
  elsif exists (
    select from purge as p where p.workspace_id = ws and p.keys && d.keys and p.number > d.acceptance_number
  ) then
    outcome := 'being-purged';
  elsif d.operation in ('purge_contact', 'delete_feedback') then
    outcome := 'undecided-purge';
  else
    update dead_submission set replayed_at = now(), retry_at = null where workspace_id = ws and id = dead_id;
    update submission set state = 'queued', error = null, finished_at = null where workspace_id = ws and id = dead_id;
    update workspace_progress set dead = workspace_progress.dead - 1 where workspace_id = ws;
    outcome := 'queued';
    dead_text := d.submission;
  end if;
end $$;

-- Removes the contacts of a purge from a dead submission. kept: the rest of the submission, as
-- {submission, keys}; null purges the whole submission. A submission that is queued again stays
-- unchanged, since it comes after the purge.
create or replace function purge_dead(ws uuid, purge_id uuid, dead_id uuid, kept jsonb) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  kept_keys uuid[] := array(select jsonb_array_elements_text(kept -> 'keys')::uuid);
begin
  if not lock_progress(ws) then return; end if;
  perform from submission where workspace_id = ws and id = dead_id and state = 'dead';
  if not found then return; end if;
  if kept is not null then
    update dead_submission set submission = kept ->> 'submission', keys = kept_keys
    where workspace_id = ws and id = dead_id;
  else
    delete from dead_submission where workspace_id = ws and id = dead_id;
    -- With the purge as its subject, its idempotency key becomes free.
    update submission
    set state = 'purged', error = null, finished_at = now(), subject_id = case when idempotency_key is not null then purge_id end
    where workspace_id = ws and id = dead_id;
    update workspace_progress set dead = dead - 1, purged = purged + 1 where workspace_id = ws;
  end if;
  update purge set dead_submissions = dead_submissions + 1 where workspace_id = ws and id = purge_id;
end $$;

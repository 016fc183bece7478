-- Dead submissions: those that cannot be stored (table dead_submission).

-- Sets one aside. Under the lock like all that writes receipts: whoever stores them looks once and inserts.
create or replace function set_aside(ws uuid, dead_submission jsonb, dead_job text) returns void
  language plpgsql as $$
declare
  d record;
begin
  perform lock_workspaces(array[ws]);
  if is_deleted(ws) then return; end if;
  select * into d from jsonb_to_record(dead_submission)
    as r (id uuid, number bigint, operation text, attempts int, reason text, keys uuid[], idempotency jsonb);
  insert into submission as s (workspace_id, id, acceptance_number, operation, state, attempts, finished_at, error)
  values (ws, d.id, d.number, d.operation, 'dead', d.attempts, now(), d.reason)
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = excluded.error
  where s.state = 'queued';
  -- A submission that was stored after all, by another delivery, is not dead.
  if exists (select from submission where workspace_id = ws and id = d.id and state = 'dead') then
    insert into dead_submission (workspace_id, id, reason, job, keys) values (ws, d.id, d.reason, dead_job, d.keys)
    on conflict (workspace_id, id) do update set reason = excluded.reason, died_at = excluded.died_at, replayed_at = null;
    perform store_idempotency_key(ws, d.idempotency, d.id, d.number);
  end if;
end $$;

-- Marks a dead submission as queued and returns its job as it is by now, or why it is not queued again. A purge that is removing
-- what belongs to a contact of it will come to it as well. A purge is decided in its place among the submissions: one that died
-- before has lost that place, and would take away what was accepted since.
create or replace function replay_dead(ws uuid, dead_id uuid, out outcome text, out dead_job text)
  language plpgsql as $$
declare
  d record;
begin
  perform lock_workspaces(array[ws]);
  select dead.job, dead.keys, s.acceptance_number, s.operation into d
  from dead_submission as dead join submission as s on s.workspace_id = ws and s.id = dead.id
  where dead.workspace_id = ws and dead.id = dead_id;
  if not found or is_deleted(ws) then
    outcome := 'unknown';
  elsif exists (
    select from purge as p
    where p.workspace_id = ws and p.id <> dead_id and p.number > d.acceptance_number and (p.keys || p.contact_ids) && d.keys
  ) then
    outcome := 'being-purged';
  elsif d.operation = 'purge_contact' and not exists (select from purge as p where p.workspace_id = ws and p.id = dead_id) then
    outcome := 'undecided-purge';
  else
    update dead_submission set replayed_at = now() where workspace_id = ws and id = dead_id;
    update submission set state = 'queued', error = null, finished_at = null
    where workspace_id = ws and id = dead_id and state = 'dead';
    outcome := 'queued';
    dead_job := d.job;
  end if;
end $$;

-- Removes a dead submission, or what a purge leaves of it takes its place: {job, keys}.
create or replace function purge_dead(ws uuid, purge_id uuid, dead_id uuid, kept jsonb) returns void
  language plpgsql as $$
begin
  perform lock_workspaces(array[ws]);
  if kept is not null then
    update dead_submission set job = kept ->> 'job', keys = array(select jsonb_array_elements_text(kept -> 'keys')::uuid)
    where workspace_id = ws and id = dead_id;
    return;
  end if;
  delete from dead_submission where workspace_id = ws and id = dead_id;
  if found then
    update submission set state = 'purged', error = null, finished_at = now() where workspace_id = ws and id = dead_id;
    update purge set dead_submissions = dead_submissions + 1 where workspace_id = ws and id = purge_id;
  end if;
end $$;

-- Nothing is left of a dead submission once it is settled otherwise, whoever settles it.
create or replace function forget_dead() returns trigger
  language plpgsql as $$
begin
  delete from dead_submission as d using after_rows as s
  where s.state in ('applied', 'superseded', 'purged') and d.workspace_id = s.workspace_id and d.id = s.id;
  return null;
end $$;

-- Submissions that cannot be stored: set aside with their job as text, which takes whatever a jsonb would refuse. `keys` are
-- those of the contacts that it concerns, hashed, so that a purge reaches it.
create table dead_submission (
  workspace_id uuid not null,
  id uuid not null,
  reason text not null,
  died_at timestamptz not null default now(),
  job text not null,
  keys uuid[] not null,
  primary key (workspace_id, id)
);
create index dead_submission_died_at on dead_submission (workspace_id, died_at);

create function set_aside(ws uuid, dead_submission jsonb, dead_job text) returns void
  language plpgsql as $$
declare
  d record;
begin
  select * into d from jsonb_to_record(dead_submission)
    as r (id uuid, number bigint, operation text, attempts int, reason text, keys uuid[]);
  insert into submission as s (workspace_id, id, acceptance_number, operation, state, attempts, finished_at, error)
  values (ws, d.id, d.number, d.operation, 'dead', d.attempts, now(), d.reason)
  on conflict (workspace_id, id) do nothing;
  -- A submission that was stored after all, by another delivery, is not dead.
  if exists (select from submission where workspace_id = ws and id = d.id and state = 'dead') then
    insert into dead_submission (workspace_id, id, reason, job, keys) values (ws, d.id, d.reason, dead_job, d.keys)
    on conflict (workspace_id, id) do update set reason = excluded.reason, died_at = excluded.died_at;
  end if;
end $$;

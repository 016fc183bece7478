-- The states of submissions, and the open work of purges.

-- Receipts.
create table submission (
  workspace_id uuid not null,
  id uuid not null,
  -- A replay keeps this number, and is applied under a later one.
  acceptance_number bigint not null,
  operation text not null,
  state text not null check (state in ('queued', 'applied', 'superseded', 'purged', 'dead')),
  attempts integer not null,
  accepted_at timestamptz generated always as (acceptance_time(acceptance_number)) stored,
  finished_at timestamptz,
  error text,
  counts jsonb,
  -- Keyed hashes of the identifiers in a purge request.
  identifiers jsonb,
  -- Keyed hashes.
  idempotency_key text collate "C",
  body_hash text collate "C",
  -- By this id, a purge finds the idempotency keys to free. It is the id of the submission's contact,
  -- feedback or conversation. A purge that removes the feedback, data of the conversation, or the dead
  -- submission, puts its own id here. Null without an idempotency key.
  subject_id uuid,
  -- Of a finished purge that matched: the change position that covers all its removals.
  change_position bigint,
  primary key (workspace_id, id)
);
create index submission_key on submission (workspace_id, idempotency_key) where idempotency_key is not null;
create index submission_subject on submission (workspace_id, subject_id) where subject_id is not null;

-- Submissions that workers have given up, kept for replay.
create table dead_submission (
  workspace_id uuid not null,
  id uuid not null,
  reason text not null,
  died_at timestamptz not null default now(),
  -- How often the submission died, and when maintenance replays it; null if only an operator does.
  deaths integer not null default 1,
  retry_at timestamptz,
  -- JSON text. A submission can be dead because of a text that a jsonb would refuse as well.
  submission text not null,
  -- All keys by which the submission names contacts (contract/identity/purge-keys.ts). By these
  -- keys, a purge finds the submission.
  keys uuid[] not null,
  -- When the submission was queued again. The row stays until the replay is applied.
  replayed_at timestamptz,
  primary key (workspace_id, id)
);

create index dead_submission_retry on dead_submission (workspace_id, retry_at) where retry_at is not null;

-- Decided purges that are not finished.
create table purge (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  -- The purged contacts. No key leads to these contacts, so every record that still has one of them
  -- is to be removed.
  contact_ids uuid[] not null,
  -- The key in `unresolved` of records that name the purged external id without a contact. These
  -- records are removed as well.
  unresolved_key uuid,
  -- Feedback that is removed by its id.
  feedback_ids uuid[] not null default '{}',
  -- The keys to look for in dead submissions.
  keys uuid[] not null,
  -- Further values of submission.subject_id for the contacts.
  subject_ids uuid[] not null,
  -- The removed records so far.
  contacts bigint not null,
  feedback bigint not null default 0,
  messages bigint not null default 0,
  conversations bigint not null default 0,
  dead_submissions bigint not null default 0,
  -- No record is left to remove. Until then, the workspace applies no later submission.
  records_removed boolean not null default false,
  primary key (workspace_id, id)
);

alter table dead_submission alter submission set statistics 0, alter reason set statistics 0;

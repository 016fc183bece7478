-- The states of submissions, and the open work of purges.

-- Receipts. acceptance_number: the first one, also for a submission that was replayed. identifiers:
-- keyed hashes of the identifiers in a purge request. idempotency_key and body_hash: keyed hashes.
-- subject_id: the id by which a purge finds idempotency keys to free: of the contact, its key or
-- the conversation of the submission, or of the purge. Null without an idempotency key.
-- change_position: for a finished purge, the position of the change feed that covers all its
-- removals.
create table submission (
  workspace_id uuid not null,
  id uuid not null,
  acceptance_number bigint not null,
  operation text not null,
  state text not null check (state in ('queued', 'applied', 'superseded', 'purged', 'dead')),
  attempts integer not null,
  accepted_at timestamptz generated always as (acceptance_time(acceptance_number)) stored,
  finished_at timestamptz,
  error text,
  counts jsonb,
  identifiers jsonb,
  idempotency_key text collate "C",
  body_hash text collate "C",
  subject_id uuid,
  change_position bigint,
  primary key (workspace_id, id)
);
create index submission_key on submission (workspace_id, idempotency_key) where idempotency_key is not null;
create index submission_subject on submission (workspace_id, subject_id) where subject_id is not null;

-- Submissions that can never be applied, kept for replay. submission: its JSON text; a jsonb would
-- refuse some accepted texts. keys: all keys by which the submission names contacts
-- (contract/identity/purge-keys.ts), so that a purge finds it. replayed_at: when it was queued
-- again; the row stays until the replay is applied.
create table dead_submission (
  workspace_id uuid not null,
  id uuid not null,
  reason text not null,
  died_at timestamptz not null default now(),
  submission text not null,
  keys uuid[] not null,
  replayed_at timestamptz,
  primary key (workspace_id, id)
);

-- Decided purges whose records are being removed, with the counts so far. contact_ids: the purged
-- contacts. No key leads to these contacts, so every record that still has one of them is to be
-- removed. unresolved_key: the key in `unresolved` of records that name the purged external id
-- without a contact; they are removed as well. keys: the keys to look for in dead submissions.
-- subject_ids: further values of submission.subject_id for the contacts.
create table purge (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  contact_ids uuid[] not null,
  unresolved_key uuid,
  keys uuid[] not null,
  subject_ids uuid[] not null,
  contacts bigint not null,
  feedback bigint not null default 0,
  messages bigint not null default 0,
  conversations bigint not null default 0,
  dead_submissions bigint not null default 0,
  primary key (workspace_id, id)
);

alter table dead_submission alter submission set statistics 0, alter reason set statistics 0;

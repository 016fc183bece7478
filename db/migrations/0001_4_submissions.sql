-- What became of submissions, and what purges have left to do.

-- Receipts. acceptance_number: as it was accepted, also of one that was replayed later.
-- identifiers: keyed hashes of what a purge asked for. idempotency_key and body_hash: keyed hashes.
-- subject_id: the contact or conversation that the submission was about, by whose purge the
-- idempotency key becomes free; only set beside an idempotency key. change_position: of a purge
-- that has ended; the change feed tells by then all that it removed.
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
-- refuse some of what was accepted. keys: all keys by which it names contacts
-- (contract/identity/named-keys.ts), so that a purge finds it. replayed_at: since when it is queued
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

-- Purges that are decided and whose records are being removed, with what was removed so far.
-- contact_ids: the purged contacts; no key leads to them any more, so every record that still has
-- one of them is to go. unresolved_key: the key in `unresolved` of records that name the purged
-- external id without a contact; they go as well. keys: the keys by which dead submissions are
-- found. subject_ids: further values of submission.subject_id that stand for the contacts.
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

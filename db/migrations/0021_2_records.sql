-- The baseline, second part: what people have said, and which submissions said it.

create table feedback_category (
  workspace_id uuid not null,
  id uuid not null,
  title text not null,
  uses bigint not null,
  primary key (workspace_id, id)
);

-- number: the submission that the record stands for; first_number: the first one of the record.
-- …_ref: whom the submission named (contract/identity/reference.ts); …_given: the slot was decided by what find-or-create gave.
-- tagger_version: the tagger that generated the tags; null when people gave them, or none has seen the record yet.
create table feedback (
  workspace_id uuid not null,
  id uuid not null,
  description text not null,
  title text,
  is_transcript boolean,
  tags text[],
  tags_generated boolean not null,
  rating double precision,
  source text not null,
  source_id text,
  source_data jsonb,
  contact_id uuid,
  account_id uuid,
  project_id uuid,
  accepted_at timestamptz generated always as (acceptance_time(first_number)) stored,
  updated_at timestamptz generated always as (acceptance_time(number)) stored,
  number bigint not null,
  first_number bigint not null,
  contact_ref jsonb,
  account_ref jsonb,
  project_ref jsonb,
  contact_given boolean not null,
  account_given boolean not null,
  project_given boolean not null,
  tagger_version int,
  primary key (workspace_id, id)
);
create index feedback_contact on feedback (contact_id) where contact_id is not null;
create index feedback_account on feedback (account_id) where account_id is not null;
create index feedback_project on feedback (project_id) where project_id is not null;

-- What replaced feedback submissions said about contacts, accounts and projects: it holds although the record is gone.
create table superseded_reference (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  source text not null,
  contact_id uuid,
  account_id uuid,
  project_id uuid,
  contact_ref jsonb,
  account_ref jsonb,
  project_ref jsonb,
  contact_given boolean not null,
  account_given boolean not null,
  project_given boolean not null,
  primary key (workspace_id, id, number)
);
create index superseded_reference_contact on superseded_reference (contact_id) where contact_id is not null;
create index superseded_reference_account on superseded_reference (account_id) where account_id is not null;
create index superseded_reference_project on superseded_reference (project_id) where project_id is not null;

-- purged_number: the last purge that took messages from it.
create table conversation (
  workspace_id uuid not null,
  id uuid not null,
  external_id text not null,
  source text not null,
  title text,
  rating double precision,
  tags text[],
  properties jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz,
  number bigint not null,
  contact_keys uuid[] not null,
  purged_number bigint,
  tagger_version int,
  primary key (workspace_id, id)
);
create index conversation_purged on conversation (workspace_id, purged_number) where purged_number is not null;

create table conversation_contact (
  workspace_id uuid not null,
  conversation_id uuid not null,
  contact_id uuid not null,
  primary key (workspace_id, conversation_id, contact_id)
);
create index conversation_contact_contact on conversation_contact (contact_id);

create table message (
  workspace_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  external_id text not null,
  incoming boolean not null,
  contact_id uuid,
  content text not null,
  source_url text,
  raw_data jsonb not null,
  created_at timestamptz not null,
  number bigint not null,
  source text not null,
  contact_ref jsonb,
  primary key (workspace_id, id)
);
create index message_conversation on message (conversation_id);
create index message_contact on message (contact_id) where contact_id is not null;

-- Every record that names a contact, account or project, in one shape.
create view reference as
  select 'feedback' as record, workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given
  from feedback
  union all
  select 'superseded', workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given
  from superseded_reference
  union all
  -- The contacts of a conversation are identified before its messages are read, hence the number after.
  select 'message', workspace_id, id, number + 1, source, contact_id, null, null,
    contact_ref, null, null, false, false, false
  from message;

-- Ids that a feedback or message named and that meant nobody at its number: looked up when somebody appears.
create table unresolved_reference (
  workspace_id uuid not null,
  ref_id uuid not null,
  record_id uuid not null,
  number bigint not null,
  primary key (workspace_id, ref_id, record_id, number)
);
create index unresolved_reference_record on unresolved_reference (record_id);

-- Receipts. identifiers: keyed hashes of what a purge asked for.
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
  primary key (workspace_id, id)
);
create index submission_finished on submission (finished_at);

-- What became of a workspace's submissions, counted where their states are written. Receipts expire, these totals stay.
-- highest_number: the highest acceptance number that is settled. When Redis has lost its data and its clock has gone back, no
-- number at or below it is given again.
create table ledger (
  workspace_id uuid not null,
  state text not null,
  submissions bigint not null,
  highest_number bigint not null default 0,
  primary key (workspace_id, state)
);

-- Submissions that cannot be stored: set aside with their job as text, which takes whatever a jsonb would refuse. keys are
-- those of the contacts that it concerns, hashed, so that a purge reaches it. replayed_at says since when it is queued again:
-- the row stays until the submission is stored, so that what dies again, or never reaches the queue, is where it was.
create table dead_submission (
  workspace_id uuid not null,
  id uuid not null,
  reason text not null,
  died_at timestamptz not null default now(),
  job text not null,
  keys uuid[] not null,
  replayed_at timestamptz,
  primary key (workspace_id, id)
);
create index dead_submission_died_at on dead_submission (workspace_id, died_at);
create index dead_submission_keys on dead_submission using gin (keys);
create index dead_submission_replayed_at on dead_submission (replayed_at) where replayed_at is not null;

-- Planner statistics would keep what people have said until the next analyze.
alter table feedback_category alter title set statistics 0;
alter table feedback alter description set statistics 0, alter title set statistics 0, alter tags set statistics 0,
  alter source_id set statistics 0, alter source_data set statistics 0, alter contact_ref set statistics 0;
alter table superseded_reference alter contact_ref set statistics 0;
alter table conversation alter external_id set statistics 0, alter title set statistics 0, alter tags set statistics 0,
  alter properties set statistics 0;
alter table message alter external_id set statistics 0, alter content set statistics 0, alter source_url set statistics 0,
  alter raw_data set statistics 0, alter contact_ref set statistics 0;
alter table dead_submission alter job set statistics 0, alter reason set statistics 0;

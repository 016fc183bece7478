-- Contacts, accounts and projects, and the keys that name them.
--
-- Indexes beside the primary key are partial, even if their condition always holds. A connection
-- that plans while a table is empty rates all indexes that begin with the workspace as equal, and
-- keeps that plan. A partial index can only serve a query that compares the column of its condition.

-- Acceptance numbers are microseconds since 1970, so a number is also the time of acceptance.
-- Generated columns depend on this function: a change of it needs a migration that writes them
-- again.
create function acceptance_time(number bigint) returns timestamptz
  language sql immutable strict parallel safe
  return to_timestamp(number::double precision / 1000000);

create table contact (
  workspace_id uuid not null,
  id uuid not null,
  name text,
  email text,
  contract_value numeric,
  account_id uuid,
  source_created_at timestamptz,
  source_updated_at timestamptz,
  properties jsonb not null default '{}',
  created_at timestamptz generated always as (acceptance_time(first_number)) stored,
  updated_at timestamptz generated always as (acceptance_time(number)) stored,
  -- The place in lists, which never changes.
  listed_at timestamptz generated always as (acceptance_time(coalesce(listed_number, first_number))) stored,
  -- The first submission about the contact, also about an absorbed one, and the last one that
  -- changed it.
  first_number bigint not null,
  -- The first submission about the contact itself. Null stands for first_number.
  listed_number bigint,
  number bigint not null,
  -- Of the submissions that changed the contact: the greatest number at acceptance. Null if this is
  -- `number`: only a replay is applied under another number than at its acceptance.
  newest_number bigint,
  -- The position in the change feed (db/functions/changes.sql).
  change_position bigint not null,
  primary key (workspace_id, id)
);
-- Metadata is written whole at each change, and compressing large metadata would take most of the
-- time of the statement.
alter table contact alter column properties set storage external;
create index contact_account on contact (workspace_id, account_id) where account_id is not null;
create index contact_listed on contact (workspace_id, listed_at, id) where listed_at is not null;
create index contact_changed on contact (workspace_id, change_position) where change_position is not null;

create table contact_external_id (
  workspace_id uuid not null,
  -- The key of the external id in all sources: a hash (contract/identity/keys.ts).
  key_id uuid not null,
  source text not null,
  external_id text not null,
  contact_id uuid not null,
  -- The submission with which the id appeared in this source. The oldest source of an id has the
  -- least number; of equal numbers, the source that sorts first is the oldest.
  number bigint not null,
  primary key (workspace_id, key_id, contact_id)
);
create index contact_external_id_contact on contact_external_id (workspace_id, contact_id) where contact_id is not null;

-- The contacts with an email, in its canonical form. The email means the contact with the highest
-- number.
create table contact_email (
  workspace_id uuid not null,
  email text not null,
  contact_id uuid not null,
  -- 0: an identify has put the email into contact.email only. The email does not mean this contact.
  number bigint not null,
  -- Whether an identify has claimed the email for the contact.
  claimed boolean not null,
  primary key (workspace_id, email, contact_id)
);
create index contact_email_contact on contact_email (workspace_id, contact_id) where contact_id is not null;

-- Own ids that were merged, or that an answer may contain.
create table contact_alias (
  workspace_id uuid not null,
  id uuid not null,
  -- The contact that the id means now.
  contact_id uuid not null,
  primary key (workspace_id, id)
);
create index contact_alias_contact on contact_alias (workspace_id, contact_id) where contact_id is not null;

-- Keys that purges have removed.
create table purged_key (
  workspace_id uuid not null,
  key_id uuid not null,
  -- How many purges have removed the key. The epoch is part of the key's own id, so a purged id is
  -- never given again.
  epoch integer not null,
  -- The acceptance number of the last of these purges.
  number bigint not null,
  primary key (workspace_id, key_id)
);

create table account (
  workspace_id uuid not null,
  id uuid not null,
  name text,
  domain text,
  contract_value numeric,
  source_created_at timestamptz,
  source_updated_at timestamptz,
  properties jsonb not null default '{}',
  created_at timestamptz generated always as (acceptance_time(first_number)) stored,
  updated_at timestamptz generated always as (acceptance_time(number)) stored,
  -- As in `contact`.
  listed_at timestamptz generated always as (acceptance_time(coalesce(listed_number, first_number))) stored,
  first_number bigint not null,
  listed_number bigint,
  number bigint not null,
  newest_number bigint,
  change_position bigint not null,
  primary key (workspace_id, id)
);
alter table account alter column properties set storage external;
create index account_listed on account (workspace_id, listed_at, id) where listed_at is not null;
create index account_changed on account (workspace_id, change_position) where change_position is not null;

create table account_external_id (
  workspace_id uuid not null,
  key_id uuid not null,
  source text not null,
  external_id text not null,
  account_id uuid not null,
  primary key (workspace_id, key_id)
);
create index account_external_id_account on account_external_id (workspace_id, account_id) where account_id is not null;

create table account_domain (
  workspace_id uuid not null,
  domain text not null,
  account_id uuid not null,
  claimed boolean not null,
  primary key (workspace_id, domain)
);
create index account_domain_account on account_domain (workspace_id, account_id) where account_id is not null;

-- A name means an account, or the account of the domain that it came with.
create table account_name (
  workspace_id uuid not null,
  name text not null,
  account_id uuid,
  domain text,
  claimed boolean not null,
  primary key (workspace_id, name)
);
create index account_name_account on account_name (workspace_id, account_id) where account_id is not null;

create table account_alias (
  workspace_id uuid not null,
  id uuid not null,
  account_id uuid not null,
  primary key (workspace_id, id)
);
create index account_alias_account on account_alias (workspace_id, account_id) where account_id is not null;

create table project (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  description text,
  created_at timestamptz generated always as (acceptance_time(first_number)) stored,
  first_number bigint not null,
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index project_created on project (workspace_id, created_at, id) where created_at is not null;
create index project_changed on project (workspace_id, change_position) where change_position is not null;

-- Records that wait for an external id, which no contact or account has yet.
create table unresolved (
  workspace_id uuid not null,
  -- The own id of the external id without its source, in the epoch in which the record named it.
  key_id uuid not null,
  -- c: the contact of a feedback; m: the contact of a message; a: the account of a feedback.
  slot "char" not null,
  record_id uuid not null,
  primary key (workspace_id, key_id, slot, record_id)
);
create index unresolved_record on unresolved (workspace_id, record_id) where record_id is not null;

-- Records that a save has left to move (db/functions/move.sql). Until they have moved, nothing else
-- of the workspace is applied.
create table pending_move (
  workspace_id uuid not null,
  -- c, a: feedback of an absorbed contact or account; r: records that wait for an external id.
  kind "char" not null,
  -- The absorbed contact or account, or the key in `unresolved`.
  old_id uuid not null,
  new_id uuid not null,
  -- The time of the save: `finished_at` in the receipts that it wrote.
  saved_at timestamptz not null default now(),
  primary key (workspace_id, kind, old_id)
);

-- Planner statistics would keep personal data until the next analyze.
alter table contact alter name set statistics 0, alter email set statistics 0, alter properties set statistics 0;
alter table contact_external_id alter external_id set statistics 0;
alter table contact_email alter email set statistics 0;

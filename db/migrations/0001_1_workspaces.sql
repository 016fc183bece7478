-- Workspaces, their tokens, and how far each is applied.
--
-- The files 0001_* are the baseline of release 1.0.0, with which a new database begins. Tables with
-- rows of a workspace can be distributed by workspace_id (docs/growing.md). So every primary key
-- and index begins with this column, except those of token.

create table workspace (
  id uuid primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);

-- Workspaces that an operator has deleted, or is deleting. In the end, only this row is left.
create table deleted_workspace (
  id uuid primary key,
  deleted_at timestamptz not null default now()
);

create table token (
  id uuid primary key,
  workspace_id uuid references workspace (id) on delete cascade,
  hash bytea not null unique,
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['submit', 'read', 'read:personal', 'edit', 'admin', 'operator']),
  bootstrap boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- For the operator.
  note text,
  -- The last day, in UTC, on which an API has found the token valid for a request.
  last_used_on date,
  check (workspace_id is not null or scopes = array['operator'])
);

-- One row identifies the hash key of this database. The key itself is never stored.
create table installation (
  id boolean primary key default true check (id),
  hash_key_proof bytea not null
);

-- The progress of a workspace. Each save updates this small row. Half of each page stays free, so
-- that an update stays on its page.
create table workspace_progress (
  workspace_id uuid primary key,
  -- The position: every submission up to this number is applied or set aside. The position moves in
  -- the same transaction as the rows, so no submission is applied twice.
  applied_number bigint not null default 0,
  -- Submissions in each final state. The counters stay when receipts expire.
  applied bigint not null default 0,
  superseded bigint not null default 0,
  purged bigint not null default 0,
  dead bigint not null default 0,
  -- Purges that may have raised epochs. At 0, every key has epoch 0.
  purges bigint not null default 0,
  -- The last position of the change feed (db/functions/changes.sql).
  change_position bigint not null default 0,
  -- The last change position of the latest save: its rows have this position, or one before it.
  saved_position bigint not null default 0,
  -- Tombstones up to this change position have expired.
  forgotten_position bigint not null default 0,
  -- The sums have the feedback up to this change position; null while they are being removed. About
  -- so many changes came after it (db/functions/feedback-sums.sql).
  summed_position bigint default 0,
  unsummed bigint not null default 0
) with (fillfactor = 50);

with made as (
  insert into workspace (id, name) values (gen_random_uuid(), 'default') returning id
)
insert into workspace_progress (workspace_id) select id from made;

-- Idempotency keys beside the receipts of what they came with, so that Redis need not keep all that came in a day.

-- key: a letter for the operation and a keyed hash of the caller's key; body: a keyed hash of the body that came with it.
-- number: the submission's acceptance number, and thereby when it came. concerns: keys of the contacts whom it concerns, hashed, so
-- that a purge of one of them frees the key.
create table idempotency_key (
  workspace_id uuid not null,
  key text collate "C" not null,
  body text collate "C" not null,
  submission_id uuid not null,
  number bigint not null,
  concerns uuid[] not null,
  primary key (workspace_id, key)
);
-- Upkeep lets the oldest expire, of all workspaces at once.
create index idempotency_key_number on idempotency_key (number);
-- Without a list of what is pending: whoever finds it full empties it, for 0.4 to 1 s under the workspace's lock, and all in all that
-- costs the processor as much.
create index idempotency_key_concerns on idempotency_key using gin (concerns) with (fastupdate = off);

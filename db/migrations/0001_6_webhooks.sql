-- Webhooks, which get the changes of a workspace, and how far each has come.
create table webhook (
  workspace_id uuid not null,
  id uuid not null,
  url text not null,
  state text not null check (state in ('active', 'paused', 'failed', 'gone')),
  -- The place in the change feed up to which the webhook has confirmed every change (`FeedPlace` in
  -- db/reads/changes.ts).
  position bigint not null,
  pass_since bigint,
  -- The version of the secret. The secret is a hash of the id and this version under the hash key,
  -- and is not stored. The former secret also signs until former_secret_until.
  secret integer not null default 1,
  former_secret_until timestamptz,
  -- The kinds whose changes it gets, and the filters of its feedback as they were given; null for all.
  kinds text[],
  filter jsonb,
  -- Whether feedback without tags waits for them, for a bounded time.
  hold_until_tagged boolean not null default false,
  -- `slack`: the texts of alerts and digests, for Slack.
  format text not null default 'standard' check (format in ('standard', 'slack')),
  delivered bigint not null default 0,
  -- How often the failing delivery was attempted, and since when it fails.
  attempts integer not null default 0,
  failing_since timestamptz,
  next_attempt_at timestamptz not null default now(),
  fault text,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);

-- Changes that a webhook has not confirmed, although its position has passed them. A record has one
-- row at most: a later change replaces it. next_attempt_at is null when the workers have given up.
create table undelivered_change (
  workspace_id uuid not null,
  webhook_id uuid not null,
  kind text not null,
  record_id uuid not null,
  position bigint not null,
  is_tombstone boolean not null,
  is_large boolean not null,
  attempts integer not null,
  failing_since timestamptz not null,
  next_attempt_at timestamptz,
  fault text not null,
  primary key (workspace_id, webhook_id, kind, record_id)
);
create index undelivered_change_due on undelivered_change (workspace_id, webhook_id, next_attempt_at)
  where next_attempt_at is not null;

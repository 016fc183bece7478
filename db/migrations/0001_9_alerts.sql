-- What is told without asking (alerts/), and what it is found by (db/functions/alerts.sql).

-- An alert holds ids and figures. Names are read with it, so a purge reaches them.
create table alert (
  workspace_id uuid not null,
  id uuid not null,
  -- theme, kind, tag, source or account; and new, grown or unhappy.
  subject text not null,
  change text not null,
  -- Which one. A tag has the id of its category.
  theme_id uuid,
  kind text,
  tag_id uuid,
  source text,
  account_id uuid,
  -- The days that are compared, up to that of the alert; their people, and how many were to be expected.
  days integer not null,
  people integer not null,
  expected double precision not null,
  created_at timestamptz not null,
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index alert_created on alert (workspace_id, created_at, id) where created_at is not null;
create index alert_changed on alert (workspace_id, change_position) where change_position is not null;
create index alert_theme on alert (workspace_id, theme_id) where theme_id is not null;
create index alert_tag on alert (workspace_id, tag_id) where tag_id is not null;

-- A week: its greatest changes, as an array of objects with subject, key, people and before. Its alerts
-- are those of its days.
create table digest (
  workspace_id uuid not null,
  id uuid not null,
  week timestamptz not null,
  changes jsonb not null,
  created_at timestamptz not null,
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index digest_created on digest (workspace_id, created_at, id) where created_at is not null;
create index digest_changed on digest (workspace_id, change_position) where change_position is not null;

-- The people of a day. subject: theme, kind or tag, with its id or name as key; people, rated and
-- unhappy, of a source; account rated and account unhappy, with an empty source.
create table alert_count (
  workspace_id uuid not null,
  subject text not null,
  key text not null,
  day date not null,
  source text not null,
  people double precision not null,
  primary key (workspace_id, subject, key, day, source)
);
create index alert_count_day on alert_count (workspace_id, day) where day is not null;

-- How far the look for alerts has come. position: of the change feed; null before the first look.
-- stale_days: the days to count again. texts: those since the last look. due_at: null if there is nothing
-- to look at. looks: how many have ended. counted: how often a day was counted.
create table alert_look (
  workspace_id uuid not null,
  position bigint,
  stale_days date[] not null default '{}',
  texts integer not null,
  due_at timestamptz,
  looked_at timestamptz,
  looks integer not null default 0,
  counted bigint not null default 0,
  digest_week date,
  primary key (workspace_id)
);
create index alert_look_due on alert_look (workspace_id, due_at) where due_at is not null;

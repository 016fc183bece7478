-- References that are still to be linked anew, since a statement links a thousand at most (db/functions/relink-steps.sql). `changed`: keys whose
-- answers have changed. When all of a workspace are linked, it goes on with what that has changed: `lost`, `now_given`, `no_longer_given`.
create table relink_left (
  workspace_id uuid not null,
  place int not null,
  record text not null,
  ids uuid[] not null,
  numbers bigint[] not null,
  changed uuid[] not null,
  is_linked boolean not null default false,
  lost uuid[] not null default '{}',
  now_given jsonb not null default '[]',
  no_longer_given jsonb not null default '[]',
  primary key (workspace_id, place)
);

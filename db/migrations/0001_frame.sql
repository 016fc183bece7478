-- Acceptance numbers are microseconds since 1970 on Redis's clock, raised where needed so that they strictly increase
-- in a workspace. So a number is also the time of acceptance.
create function acceptance_time(number bigint) returns timestamptz
  language sql immutable strict parallel safe
  return timestamptz '1970-01-01 00:00:00+00' + number * interval '1 microsecond';

-- A date-time that was checked to carry its own offset; without one the cast would depend on the session.
create function offset_time(value text) returns timestamptz
  language sql immutable strict parallel safe
  return value::timestamptz;

create table workspace (
  id uuid primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);

create table token (
  id uuid primary key,
  workspace_id uuid references workspace (id) on delete cascade,
  hash bytea not null unique,
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['submit', 'admin', 'operator']),
  bootstrap boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  check (workspace_id is not null or scopes = array['operator'])
);

-- One row: what this database was made with. The key itself is never stored.
create table installation (
  id boolean primary key default true check (id),
  hash_key_proof bytea not null
);

insert into workspace (id, name) values (gen_random_uuid(), 'default');

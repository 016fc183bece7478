-- The baseline, first part: workspaces, who people are, and what is derived from what was said about them.
--
-- The three files 0021_* are one migration: what a new database begins with. A database that is at 21 already has all of it.

-- These functions stand behind generated columns. They are part of the tables: to change one would leave the rows that are
-- stored as they were, so a change is a new migration that writes the columns anew.

-- Acceptance numbers are microseconds since 1970 on Redis's clock, raised where needed so that they strictly increase
-- in a workspace. So a number is also the time of acceptance. Postgres can inline this: a generated column costs an expression
-- and no call (0.12 us, now 0.01). Doubles hold the times of this century to the microsecond.
create function acceptance_time(number bigint) returns timestamptz
  language sql immutable strict parallel safe
  return to_timestamp(number::double precision / 1000000);

-- A date-time was checked to carry its own offset; without one the cast would depend on the session.
create function offset_time(value text) returns timestamptz
  language plpgsql immutable strict parallel safe as $$
begin
  return value::timestamptz;
end $$;

-- The facts (db/functions/facts.sql) that are metadata, as {key: value}. There is no query where there are few keys: facts
-- without metadata cost 0.5 us instead of 1.0, those of two keys 2.4 instead of 4.8.
create function metadata(facts jsonb) returns jsonb
  language plpgsql immutable strict parallel safe as $$
declare
  rest jsonb := facts - '{c:name,c:email,c:domain,c:contractValue,c:createdAt,c:updatedAt,k:email}'::text[];
  keys jsonb;
  key text;
  result jsonb := '{}';
begin
  if rest = '{}' then return rest; end if;
  keys := jsonb_path_query_array(rest, '$.keyvalue().key');
  if jsonb_array_length(keys) > 8 then
    return (select coalesce(jsonb_object_agg(substr(f.key, 3), f.value -> 1), '{}') from jsonb_each(rest) as f where starts_with(f.key, 'p:'));
  end if;
  for place in 0 .. jsonb_array_length(keys) - 1 loop
    key := keys ->> place;
    if starts_with(key, 'p:') then
      result := result || jsonb_build_object(substr(key, 3), rest -> key -> 1);
    end if;
  end loop;
  return result;
end $$;

-- The number of the last submission that changed something: the last identify, or a find-or-create whose value stands.
create function last_change(last_identify bigint, facts jsonb) returns bigint
  language plpgsql immutable parallel safe as $$
declare
  given jsonb := jsonb_path_query_array(facts, '$.*[0] ? (@ < 0)');
begin
  if given = '[]' then return last_identify; end if;
  -- Mostly one submission gave all of them.
  if not jsonb_path_exists(given, '$[*] ? (@ != $[0])') then return greatest(last_identify, -(given ->> 0)::bigint); end if;
  return greatest(last_identify, (select max(-value::bigint) from jsonb_array_elements_text(given)));
end $$;

create table workspace (
  id uuid primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);
insert into workspace (id, name) values (gen_random_uuid(), 'default');

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

-- One row says what this database was made with. The key itself is never stored.
create table installation (
  id boolean primary key default true check (id),
  hash_key_proof bytea not null
);

-- In every table below the primary key begins with the workspace, and no other index does, but for a few that are listed with
-- their reason in test/db/distributable.test.ts. db/functions/README.md says why.

create table contact (
  workspace_id uuid not null,
  id uuid not null,
  name text generated always as (facts -> 'c:name' ->> 1) stored,
  email text generated always as (facts -> 'c:email' ->> 1) stored,
  contract_value numeric generated always as ((facts -> 'c:contractValue' ->> 1)::numeric) stored,
  account_id uuid,
  source_created_at timestamptz generated always as (offset_time(facts -> 'c:createdAt' ->> 1)) stored,
  source_updated_at timestamptz generated always as (offset_time(facts -> 'c:updatedAt' ->> 1)) stored,
  properties jsonb generated always as (metadata(facts)) stored,
  created_at timestamptz generated always as (acceptance_time(first_number)) stored,
  updated_at timestamptz generated always as (acceptance_time(last_change(last_identify_number, facts))) stored,
  facts jsonb not null,
  account_number bigint,
  first_number bigint not null,
  last_identify_number bigint,
  primary key (workspace_id, id)
);
create index contact_account on contact (account_id) where account_id is not null;

create table account (
  workspace_id uuid not null,
  id uuid not null,
  name text generated always as (facts -> 'c:name' ->> 1) stored,
  domain text generated always as (facts -> 'c:domain' ->> 1) stored,
  contract_value numeric generated always as ((facts -> 'c:contractValue' ->> 1)::numeric) stored,
  source_created_at timestamptz generated always as (offset_time(facts -> 'c:createdAt' ->> 1)) stored,
  source_updated_at timestamptz generated always as (offset_time(facts -> 'c:updatedAt' ->> 1)) stored,
  properties jsonb generated always as (metadata(facts)) stored,
  created_at timestamptz generated always as (acceptance_time(first_number)) stored,
  updated_at timestamptz generated always as (acceptance_time(last_change(last_identify_number, facts))) stored,
  facts jsonb not null,
  first_number bigint not null,
  last_identify_number bigint,
  primary key (workspace_id, id)
);

create table project (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  first_number bigint not null,
  primary key (workspace_id, id)
);

-- External ids and sources together can exceed what an index row holds, so these tables are keyed by the hashed key.
create table contact_external_id (
  workspace_id uuid not null,
  key_id uuid not null,
  source text not null,
  external_id text not null,
  contact_id uuid not null,
  primary key (workspace_id, key_id)
);
create index contact_external_id_contact on contact_external_id (contact_id);

create table account_external_id (
  workspace_id uuid not null,
  key_id uuid not null,
  source text not null,
  external_id text not null,
  account_id uuid not null,
  primary key (workspace_id, key_id)
);
create index account_external_id_account on account_external_id (account_id);

-- Every key that a contact, account or project can be meant by, under its keyed hash (contract/identity/own-id.ts).
-- contact_external and account_external are external ids; contact_bare is an external id that was identified without a source;
-- contact_email, account_name and account_domain are weak keys; contact_record is a nameless email's record; then project.
-- group_id: one external id in all sources. home_id: the external key that a bare one starts when it is the oldest.
-- said_from: the lowest number that said something about this very key. exists_from and subject_id are derived.
create table identity_key (
  workspace_id uuid not null,
  id uuid not null,
  kind text not null,
  group_id uuid,
  home_id uuid,
  source text,
  external_id text,
  said_from bigint,
  last_number bigint,
  facts jsonb not null default '{}',
  account_id uuid,
  account_number bigint,
  exists_from bigint,
  subject_id uuid not null,
  -- Whom its own id stood for was purged: the key still means whoever else claimed it, its id means nobody.
  orphaned boolean not null default false,
  primary key (workspace_id, id)
);
create index identity_key_group on identity_key (group_id) where group_id is not null;
create index identity_key_subject on identity_key (subject_id);

-- Who has said that a weak key is theirs: an identified contact or account, or (link) a domain that a name was given with.
create table identity_claim (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  target_id uuid not null,
  link boolean not null,
  -- Of several contacts with one email in one conversation the last decides; the others are kept because it is their email too.
  decides boolean not null default true,
  primary key (workspace_id, key_id, number, target_id)
);
create index identity_claim_target on identity_claim (target_id);
create index identity_claim_identified on identity_claim (workspace_id, key_id, number) where not link and decides;

-- Planner statistics would keep what people have said until the next analyze.
alter table contact alter name set statistics 0, alter email set statistics 0, alter properties set statistics 0,
  alter facts set statistics 0;
alter table contact_external_id alter external_id set statistics 0;
alter table identity_key alter external_id set statistics 0, alter facts set statistics 0;

-- Facts: what has been said about a contact or account, as {key: [rank, value]}. A key is 'c:' and a column or 'p:' and a
-- metadata key. The rank of a value that an identify set is its acceptance number; of one that a find-or-create gave, the
-- negated number. So of two values the one with the greater rank holds: identify above find-or-create, the latest identify,
-- the first find-or-create. Merging commutes, whoever stores first.
create function merge_facts(a jsonb, b jsonb) returns jsonb
  language sql immutable strict parallel safe
  return case
    when a = '{}' then b
    when b = '{}' or a @> b then a
    else (
      select jsonb_object_agg(key, value)
      from (
        select distinct on (key) key, value
        from (select key, value from jsonb_each(a) union all select key, value from jsonb_each(b)) as f
        order by key, (value ->> 0)::bigint desc, value::text
      ) as winners
    )
  end;

create aggregate all_facts (jsonb) (sfunc = merge_facts, stype = jsonb, initcond = '{}', parallel = safe);

create function metadata(facts jsonb) returns jsonb
  language sql immutable strict parallel safe
  return coalesce(
    (select jsonb_object_agg(substr(key, 3), value -> 1) from jsonb_each(facts) where starts_with(key, 'p:')),
    '{}'
  );

-- The number of the last submission that changed something: the last identify, or a find-or-create whose value stands.
create function last_change(last_identify bigint, facts jsonb) returns bigint
  language sql immutable parallel safe
  return greatest(
    last_identify,
    (select max(-(value ->> 0)::bigint) from jsonb_each(facts) where (value ->> 0)::bigint < 0)
  );

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
create index contact_account on contact (workspace_id, account_id) where account_id is not null;

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
create index contact_external_id_contact on contact_external_id (workspace_id, contact_id);

create table account_external_id (
  workspace_id uuid not null,
  key_id uuid not null,
  source text not null,
  external_id text not null,
  account_id uuid not null,
  primary key (workspace_id, key_id)
);
create index account_external_id_account on account_external_id (workspace_id, account_id);

create table feedback_category (
  workspace_id uuid not null,
  id uuid not null,
  title text not null,
  uses bigint not null,
  primary key (workspace_id, id)
);

-- number: the submission that the record stands for; first_number: the first one of the record.
-- …_ref: whom the submission named (db/contract/reference.ts); …_given: the slot was decided by what find-or-create gave.
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
  primary key (workspace_id, id)
);
create index feedback_contact on feedback (workspace_id, contact_id) where contact_id is not null;
create index feedback_account on feedback (workspace_id, account_id) where account_id is not null;
create index feedback_project on feedback (workspace_id, project_id) where project_id is not null;

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
create index superseded_reference_contact on superseded_reference (workspace_id, contact_id) where contact_id is not null;
create index superseded_reference_account on superseded_reference (workspace_id, account_id) where account_id is not null;
create index superseded_reference_project on superseded_reference (workspace_id, project_id) where project_id is not null;

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
  primary key (workspace_id, id)
);

create table conversation_contact (
  workspace_id uuid not null,
  conversation_id uuid not null,
  contact_id uuid not null,
  primary key (workspace_id, conversation_id, contact_id)
);
create index conversation_contact_contact on conversation_contact (workspace_id, contact_id);

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
create index message_conversation on message (workspace_id, conversation_id);
create index message_contact on message (workspace_id, contact_id) where contact_id is not null;

-- Every key that a contact, account or project can be meant by, under its keyed hash (db/contract/own-id.ts).
-- contact_external, account_external: an external id; contact_bare: an external id that was identified without a source;
-- contact_email, account_name, account_domain: weak keys; contact_record: a nameless email's record; project.
-- group_id: one external id in all sources. home_id: the external key that a bare one starts when it is the oldest.
-- said_from: the lowest number that said something about this very key. Derived: exists_from, subject_id.
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
create index identity_key_group on identity_key (workspace_id, group_id) where group_id is not null;
create index identity_key_subject on identity_key (workspace_id, subject_id);

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
create index identity_claim_target on identity_claim (workspace_id, target_id);

-- Ids that a feedback or message named and that meant nobody at its number: looked up when somebody appears.
create table unresolved_reference (
  workspace_id uuid not null,
  ref_id uuid not null,
  record_id uuid not null,
  number bigint not null,
  primary key (workspace_id, ref_id, record_id, number)
);
create index unresolved_reference_record on unresolved_reference (workspace_id, record_id);

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
  primary key (workspace_id, id)
);
create index submission_finished on submission (finished_at);
create index identity_claim_identified on identity_claim (workspace_id, key_id, number) where not link and decides;

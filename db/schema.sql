-- The tables that the migrations come to, for reading and comparing; the migrations make them. Written by npm run schema.

create type answered_feedback as (
  wins boolean,
  replaces boolean,
  contact uuid,
  account uuid,
  project uuid,
  by_contact boolean,
  by_account boolean,
  by_project boolean,
  missed uuid[]
);

create type given_reference as (
  kind text,
  weak uuid,
  name_key uuid,
  number bigint
);

create type incoming_feedback as (
  workspace_id uuid,
  id uuid,
  description text,
  title text,
  is_transcript boolean,
  tags text[],
  rating double precision,
  source text,
  source_id text,
  source_data jsonb,
  source_created_at timestamp with time zone,
  number bigint,
  contact_ref jsonb,
  account_ref jsonb,
  project_ref jsonb
);

create type moved_reference as (
  record text,
  id uuid,
  number bigint,
  contact uuid,
  account uuid,
  project uuid,
  contact_given boolean,
  account_given boolean,
  project_given boolean,
  missed uuid[],
  lost uuid[],
  contact_gains boolean,
  account_gains boolean,
  project_gains boolean,
  now_given given_reference[],
  no_longer_given given_reference[]
);

create type new_account as (
  workspace_id uuid,
  id uuid,
  facts jsonb,
  first_number bigint,
  last_identify_number bigint
);

create type new_claim as (
  workspace_id uuid,
  key_id uuid,
  kind text,
  number bigint,
  target_id uuid,
  link boolean,
  decides boolean
);

create type new_contact as (
  workspace_id uuid,
  id uuid,
  facts jsonb,
  account_id uuid,
  account_number bigint,
  first_number bigint,
  last_identify_number bigint
);

create type new_given as (
  workspace_id uuid,
  kind text,
  weak uuid,
  name_key uuid,
  number bigint
);

create type new_submission as (
  workspace_id uuid,
  id uuid,
  number bigint,
  operation text,
  attempts integer,
  record uuid
);

create type new_uses as (
  workspace_id uuid,
  title text,
  uses bigint
);

create type resolution as (
  id uuid,
  given boolean,
  missed uuid[]
);

create type tagged_record as (
  record text,
  id uuid,
  number bigint,
  text_version text,
  tags text[],
  judged boolean,
  given integer,
  hashes bigint[],
  traits integer[],
  tag_hashes bigint[],
  titles text[]
);

create type wanted_purge as (
  id uuid,
  number bigint,
  "group" uuid,
  email uuid,
  source text
);

create type workspace_key as (
  workspace_id uuid,
  id uuid
);

create type workspace_number as (
  workspace_id uuid,
  number bigint
);

create type workspace_part as (
  workspace_id uuid,
  part jsonb
);

create table account (
  workspace_id uuid not null,
  id uuid not null,
  name text generated always as (((facts -> 'c:name'::text) ->> 1)) stored,
  domain text generated always as (((facts -> 'c:domain'::text) ->> 1)) stored,
  contract_value numeric generated always as ((((facts -> 'c:contractValue'::text) ->> 1))::numeric) stored,
  source_created_at timestamp with time zone generated always as (offset_time(((facts -> 'c:createdAt'::text) ->> 1))) stored,
  source_updated_at timestamp with time zone generated always as (offset_time(((facts -> 'c:updatedAt'::text) ->> 1))) stored,
  properties jsonb generated always as (metadata(facts)) stored /* storage e */,
  created_at timestamp with time zone generated always as (acceptance_time(first_number)) stored,
  updated_at timestamp with time zone generated always as (acceptance_time(last_change(last_identify_number, facts))) stored,
  facts jsonb not null /* storage e */,
  first_number bigint not null,
  last_identify_number bigint,
  constraint account_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table account_external_id (
  workspace_id uuid not null,
  key_id uuid not null,
  source text not null,
  external_id text not null,
  account_id uuid not null,
  constraint account_external_id_pkey PRIMARY KEY (workspace_id, key_id)
) with ();

create table contact (
  workspace_id uuid not null,
  id uuid not null,
  name text generated always as (((facts -> 'c:name'::text) ->> 1)) stored /* statistics 0 */,
  email text generated always as (((facts -> 'c:email'::text) ->> 1)) stored /* statistics 0 */,
  contract_value numeric generated always as ((((facts -> 'c:contractValue'::text) ->> 1))::numeric) stored,
  account_id uuid,
  source_created_at timestamp with time zone generated always as (offset_time(((facts -> 'c:createdAt'::text) ->> 1))) stored,
  source_updated_at timestamp with time zone generated always as (offset_time(((facts -> 'c:updatedAt'::text) ->> 1))) stored,
  properties jsonb generated always as (metadata(facts)) stored /* statistics 0 */ /* storage e */,
  created_at timestamp with time zone generated always as (acceptance_time(first_number)) stored,
  updated_at timestamp with time zone generated always as (acceptance_time(last_change(last_identify_number, facts))) stored,
  facts jsonb not null /* statistics 0 */ /* storage e */,
  account_number bigint,
  first_number bigint not null,
  last_identify_number bigint,
  constraint contact_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table contact_external_id (
  workspace_id uuid not null,
  key_id uuid not null,
  source text not null,
  external_id text not null /* statistics 0 */,
  contact_id uuid not null,
  constraint contact_external_id_pkey PRIMARY KEY (workspace_id, key_id)
) with ();

create table conversation (
  workspace_id uuid not null,
  id uuid not null,
  external_id text not null /* statistics 0 */,
  source text not null,
  title text /* statistics 0 */,
  rating double precision,
  tags text[] /* statistics 0 */,
  properties jsonb not null /* statistics 0 */,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone,
  number bigint not null,
  contact_keys uuid[] not null,
  purged_number bigint,
  tagger_version integer,
  constraint conversation_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table conversation_contact (
  workspace_id uuid not null,
  conversation_id uuid not null,
  contact_id uuid not null,
  constraint conversation_contact_pkey PRIMARY KEY (workspace_id, conversation_id, contact_id)
) with ();

create table dead_submission (
  workspace_id uuid not null,
  id uuid not null,
  reason text not null /* statistics 0 */,
  died_at timestamp with time zone default now() not null,
  job text not null /* statistics 0 */,
  keys uuid[] not null,
  replayed_at timestamp with time zone,
  constraint dead_submission_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table deleted_workspace (
  id uuid not null,
  deleted_at timestamp with time zone default now() not null,
  constraint deleted_workspace_pkey PRIMARY KEY (id)
) with ();

create table feedback (
  workspace_id uuid not null,
  id uuid not null,
  description text not null /* statistics 0 */,
  title text /* statistics 0 */,
  is_transcript boolean,
  tags text[] /* statistics 0 */,
  tags_generated boolean not null,
  rating double precision,
  source text not null,
  source_id text /* statistics 0 */,
  source_data jsonb /* statistics 0 */,
  contact_id uuid,
  account_id uuid,
  project_id uuid,
  accepted_at timestamp with time zone generated always as (acceptance_time(first_number)) stored,
  updated_at timestamp with time zone generated always as (acceptance_time(number)) stored,
  number bigint not null,
  first_number bigint not null,
  contact_ref jsonb /* statistics 0 */,
  account_ref jsonb,
  project_ref jsonb,
  contact_given boolean not null,
  account_given boolean not null,
  project_given boolean not null,
  tagger_version integer,
  source_created_at timestamp with time zone,
  created_at timestamp with time zone generated always as (COALESCE(source_created_at, acceptance_time(first_number))) stored not null,
  constraint feedback_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table feedback_category (
  workspace_id uuid not null,
  id uuid not null,
  title text not null /* statistics 0 */,
  uses bigint not null,
  constraint feedback_category_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table fence (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  id uuid not null,
  next_id uuid not null,
  group_id uuid,
  source_hash uuid,
  from_number bigint,
  constraint fence_pkey PRIMARY KEY (workspace_id, key_id, number)
) with ();

create table fence_claim (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  ended_number bigint not null,
  constraint fence_claim_pkey PRIMARY KEY (workspace_id, key_id, number, ended_number)
) with ();

create table idempotency_key (
  workspace_id uuid not null,
  key text not null,
  body text not null,
  submission_id uuid not null,
  number bigint not null,
  concerns uuid[] not null,
  constraint idempotency_key_pkey PRIMARY KEY (workspace_id, key)
) with ();

create table identity_claim (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  target_id uuid not null,
  link boolean not null,
  decides boolean default true not null,
  constraint identity_claim_pkey PRIMARY KEY (workspace_id, key_id, number, target_id)
) with ();

create table identity_key (
  workspace_id uuid not null,
  id uuid not null,
  kind text not null,
  group_id uuid,
  home_id uuid,
  source text,
  external_id text /* statistics 0 */,
  said_from bigint,
  last_number bigint,
  facts jsonb default '{}'::jsonb not null /* statistics 0 */ /* storage e */,
  account_id uuid,
  account_number bigint,
  exists_from bigint,
  subject_id uuid not null,
  orphaned boolean default false not null,
  constraint identity_key_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table installation (
  id boolean default true not null,
  hash_key_proof bytea not null,
  constraint installation_pkey PRIMARY KEY (id),
  constraint installation_id_check CHECK (id)
) with ();

create table ledger (
  workspace_id uuid not null,
  state text not null,
  submissions bigint not null,
  highest_number bigint default 0 not null,
  constraint ledger_pkey PRIMARY KEY (workspace_id, state)
) with ();

create table message (
  workspace_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  external_id text not null /* statistics 0 */,
  incoming boolean not null,
  contact_id uuid,
  content text not null /* statistics 0 */,
  source_url text /* statistics 0 */,
  raw_data jsonb not null /* statistics 0 */,
  created_at timestamp with time zone not null,
  number bigint not null,
  source text not null,
  contact_ref jsonb /* statistics 0 */,
  constraint message_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table project (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  first_number bigint not null,
  constraint project_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table purge (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  contact_ids uuid[] not null,
  remembered uuid,
  keys uuid[] not null,
  contacts bigint not null,
  feedback bigint default 0 not null,
  messages bigint default 0 not null,
  conversations bigint default 0 not null,
  dead_submissions bigint default 0 not null,
  constraint purge_pkey PRIMARY KEY (workspace_id, id)
) with ();

create table relink_left (
  workspace_id uuid not null,
  place integer not null,
  record text not null,
  ids uuid[] not null,
  numbers bigint[] not null,
  changed uuid[] not null,
  is_linked boolean default false not null,
  lost uuid[] default '{}'::uuid[] not null,
  now_given jsonb default '[]'::jsonb not null,
  no_longer_given jsonb default '[]'::jsonb not null,
  constraint relink_left_pkey PRIMARY KEY (workspace_id, place)
) with ();

create table repeat_left (
  workspace_id uuid not null,
  after bigint default 0 not null,
  kind text not null,
  id uuid not null,
  looked_at timestamp with time zone default now() not null,
  constraint repeat_left_pkey PRIMARY KEY (workspace_id, kind, id)
) with ();

create table schema_functions (
  id boolean default true not null,
  edition integer not null,
  checksum text not null,
  catalogue text not null,
  constraint schema_functions_pkey PRIMARY KEY (id),
  constraint schema_functions_id_check CHECK (id)
) with ();

create table schema_migration (
  number integer not null,
  name text not null,
  applied_at timestamp with time zone default now() not null,
  constraint schema_migration_pkey PRIMARY KEY (number)
) with ();

create table submission (
  workspace_id uuid not null,
  id uuid not null,
  acceptance_number bigint not null,
  operation text not null,
  state text not null,
  attempts integer not null,
  accepted_at timestamp with time zone generated always as (acceptance_time(acceptance_number)) stored,
  finished_at timestamp with time zone,
  error text,
  counts jsonb,
  identifiers jsonb,
  constraint submission_pkey PRIMARY KEY (workspace_id, id),
  constraint submission_state_check CHECK (state = ANY (ARRAY['queued'::text, 'applied'::text, 'superseded'::text, 'purged'::text, 'dead'::text]))
) with ();

create table superseded_reference (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  source text not null,
  contact_id uuid,
  account_id uuid,
  project_id uuid,
  contact_ref jsonb /* statistics 0 */,
  account_ref jsonb,
  project_ref jsonb,
  contact_given boolean not null,
  account_given boolean not null,
  project_given boolean not null,
  constraint superseded_reference_pkey PRIMARY KEY (workspace_id, id, number)
) with ();

create table tag_in_use (
  workspace_id uuid not null,
  hash bigint not null,
  title_id uuid not null,
  title text not null /* statistics 0 */,
  people integer not null,
  generated integer not null,
  constraint tag_in_use_pkey PRIMARY KEY (workspace_id, hash, title_id)
) with ();

create table tag_memory (
  workspace_id uuid not null,
  texts bigint not null,
  judged bigint not null,
  given bigint not null,
  judged_terms bigint not null,
  terms bigint not null,
  constraint tag_memory_pkey PRIMARY KEY (workspace_id)
) with ();

create table tag_share (
  workspace_id uuid not null,
  record_id uuid not null,
  number bigint not null,
  text_version text not null,
  tagger_version integer not null,
  judged boolean not null,
  given integer not null,
  terms integer not null,
  hashes bigint[] not null /* statistics 0 */,
  traits integer[] not null,
  tag_hashes bigint[] not null /* statistics 0 */,
  titles text[] not null /* statistics 0 */,
  constraint tag_share_pkey PRIMARY KEY (workspace_id, record_id)
) with ();

create table tag_term (
  workspace_id uuid not null,
  hash bigint not null,
  texts integer not null,
  determined integer not null,
  free integer not null,
  valued integer not null,
  judged integer not null,
  given integer not null,
  constraint tag_term_pkey PRIMARY KEY (workspace_id, hash)
) with ();

create table token (
  id uuid not null,
  workspace_id uuid,
  hash bytea not null,
  scopes text[] not null,
  bootstrap boolean default false not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint token_hash_key UNIQUE (hash),
  constraint token_pkey PRIMARY KEY (id),
  constraint token_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
  constraint token_check CHECK (workspace_id IS NOT NULL OR scopes = ARRAY['operator'::text]),
  constraint token_scopes_check CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['submit'::text, 'admin'::text, 'operator'::text])
) with ();

create table unresolved_reference (
  workspace_id uuid not null,
  ref_id uuid not null,
  record_id uuid not null,
  number bigint not null,
  constraint unresolved_reference_pkey PRIMARY KEY (workspace_id, ref_id, record_id, number)
) with ();

create table workspace (
  id uuid not null,
  name text not null,
  created_at timestamp with time zone default now() not null,
  constraint workspace_name_key UNIQUE (name),
  constraint workspace_pkey PRIMARY KEY (id)
) with ();

CREATE OR REPLACE FUNCTION acceptance_time(number bigint)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN to_timestamp(((number)::double precision / (1000000)::double precision))
;

CREATE OR REPLACE FUNCTION last_change(last_identify bigint, facts jsonb)
 RETURNS bigint
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
declare
  given jsonb := jsonb_path_query_array(facts, '$.*[0] ? (@ < 0)');
begin
  if given = '[]' then return last_identify; end if;
  -- Mostly one submission gave all of them.
  if not jsonb_path_exists(given, '$[*] ? (@ != $[0])') then return greatest(last_identify, -(given ->> 0)::bigint); end if;
  return greatest(last_identify, (select max(-value::bigint) from jsonb_array_elements_text(given)));
end $function$
;

CREATE OR REPLACE FUNCTION metadata(facts jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION offset_time(value text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
begin
  return value::timestamptz;
end $function$
;

CREATE INDEX account_external_id_account ON account_external_id USING btree (account_id);

CREATE INDEX contact_account ON contact USING btree (account_id) WHERE (account_id IS NOT NULL);

CREATE INDEX contact_external_id_contact ON contact_external_id USING btree (contact_id);

CREATE INDEX conversation_contact_contact ON conversation_contact USING btree (contact_id);

CREATE INDEX conversation_purged ON conversation USING btree (workspace_id, purged_number) WHERE (purged_number IS NOT NULL);

CREATE INDEX dead_submission_died_at ON dead_submission USING btree (workspace_id, died_at);

CREATE INDEX dead_submission_keys ON dead_submission USING gin (keys);

CREATE INDEX dead_submission_replayed_at ON dead_submission USING btree (replayed_at) WHERE (replayed_at IS NOT NULL);

CREATE INDEX feedback_account ON feedback USING btree (account_id) WHERE (account_id IS NOT NULL);

CREATE INDEX feedback_contact ON feedback USING btree (contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX feedback_created ON feedback USING btree (workspace_id, created_at) WHERE (created_at IS NOT NULL);

CREATE INDEX feedback_project ON feedback USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX feedback_source ON feedback USING btree (workspace_id, source, created_at) WHERE (source IS NOT NULL);

CREATE INDEX fence_group ON fence USING btree (group_id) WHERE (group_id IS NOT NULL);

CREATE INDEX fence_id ON fence USING btree (id);

CREATE INDEX fence_next ON fence USING btree (next_id);

CREATE INDEX fence_number ON fence USING hash (number);

CREATE INDEX idempotency_key_concerns ON idempotency_key USING gin (concerns) WITH (fastupdate=off);

CREATE INDEX idempotency_key_number ON idempotency_key USING btree (number);

CREATE INDEX identity_claim_identified ON identity_claim USING btree (workspace_id, key_id, number) WHERE ((NOT link) AND decides);

CREATE INDEX identity_claim_target ON identity_claim USING btree (target_id);

CREATE INDEX identity_key_group ON identity_key USING btree (group_id) WHERE (group_id IS NOT NULL);

CREATE INDEX identity_key_subject ON identity_key USING btree (subject_id);

CREATE INDEX message_contact ON message USING btree (contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX message_conversation ON message USING btree (conversation_id);

CREATE INDEX repeat_left_looked_at ON repeat_left USING btree (workspace_id, looked_at);

CREATE INDEX submission_finished ON submission USING btree (finished_at);

CREATE INDEX superseded_reference_account ON superseded_reference USING btree (account_id) WHERE (account_id IS NOT NULL);

CREATE INDEX superseded_reference_contact ON superseded_reference USING btree (contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX superseded_reference_project ON superseded_reference USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX tag_share_oldest ON tag_share USING btree (judged, workspace_id, number, record_id) INCLUDE (terms);

CREATE INDEX unresolved_reference_record ON unresolved_reference USING btree (record_id);

create view feedback_tag as
 SELECT f.workspace_id,
    f.id AS feedback_id,
    t.tag
   FROM feedback f,
    LATERAL unnest(f.tags) t(tag);

create view feedback_view as
 SELECT f.workspace_id,
    f.id,
    f.title,
    f.description,
    f.is_transcript,
    f.tags,
    f.tags_generated,
    f.rating,
    f.source,
    f.source_id,
    f.source_data,
    f.created_at,
    f.accepted_at,
    f.updated_at,
    f.contact_id,
    c.name AS contact_name,
    c.email AS contact_email,
    c.contract_value AS contact_contract_value,
    a.id AS account_id,
    a.name AS account_name,
    a.domain AS account_domain,
    a.contract_value AS account_contract_value,
    f.project_id,
    p.name AS project_name
   FROM feedback f
     LEFT JOIN contact c ON c.workspace_id = f.workspace_id AND c.id = f.contact_id
     LEFT JOIN account a ON a.workspace_id = f.workspace_id AND a.id = COALESCE(f.account_id, c.account_id)
     LEFT JOIN project p ON p.workspace_id = f.workspace_id AND p.id = f.project_id;

create view reference as
 SELECT 'feedback'::text AS record,
    feedback.workspace_id,
    feedback.id,
    feedback.number,
    feedback.source,
    feedback.contact_id,
    feedback.account_id,
    feedback.project_id,
    feedback.contact_ref,
    feedback.account_ref,
    feedback.project_ref,
    feedback.contact_given,
    feedback.account_given,
    feedback.project_given
   FROM feedback
UNION ALL
 SELECT 'superseded'::text AS record,
    superseded_reference.workspace_id,
    superseded_reference.id,
    superseded_reference.number,
    superseded_reference.source,
    superseded_reference.contact_id,
    superseded_reference.account_id,
    superseded_reference.project_id,
    superseded_reference.contact_ref,
    superseded_reference.account_ref,
    superseded_reference.project_ref,
    superseded_reference.contact_given,
    superseded_reference.account_given,
    superseded_reference.project_given
   FROM superseded_reference
UNION ALL
 SELECT 'message'::text AS record,
    message.workspace_id,
    message.id,
    message.number + 1 AS number,
    message.source,
    message.contact_id,
    NULL::uuid AS account_id,
    NULL::uuid AS project_id,
    message.contact_ref,
    NULL::jsonb AS account_ref,
    NULL::jsonb AS project_ref,
    false AS contact_given,
    false AS account_given,
    false AS project_given
   FROM message;

CREATE TRIGGER forget_tagger BEFORE UPDATE OF tags ON conversation FOR EACH ROW WHEN (new.tags IS NULL AND old.tagger_version IS NOT NULL) EXECUTE FUNCTION forget_tagger();

CREATE TRIGGER take_out_shares AFTER DELETE ON conversation REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION take_out_shares();

CREATE TRIGGER forget_tagger BEFORE UPDATE OF number ON feedback FOR EACH ROW WHEN (old.number <> new.number AND old.tagger_version IS NOT NULL) EXECUTE FUNCTION forget_tagger();

CREATE TRIGGER take_out_replaced AFTER UPDATE ON feedback REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION take_out_replaced();

CREATE TRIGGER take_out_shares AFTER DELETE ON feedback REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION take_out_shares();

CREATE TRIGGER take_out_shortened AFTER DELETE ON message REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION take_out_shortened();

CREATE TRIGGER submission_inserted AFTER INSERT ON submission REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION count_settled();

CREATE TRIGGER submission_settled AFTER UPDATE ON submission REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION forget_dead();

CREATE TRIGGER submission_updated AFTER UPDATE ON submission REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION count_settled();

CREATE TRIGGER count_gone_shares AFTER DELETE ON tag_share REFERENCING OLD TABLE AS shares FOR EACH STATEMENT EXECUTE FUNCTION count_shares();

CREATE TRIGGER count_new_shares AFTER INSERT ON tag_share REFERENCING NEW TABLE AS shares FOR EACH STATEMENT EXECUTE FUNCTION count_shares();

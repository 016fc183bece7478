-- What the migrations come to, for reading and comparing; the migrations make it. Written by npm run schema.

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

create type relinked as (
  record text,
  id uuid,
  number bigint,
  contact resolution,
  account resolution,
  project resolution,
  before_ids uuid[],
  now_given given_reference[],
  no_longer_given given_reference[]
);

create type resolution as (
  id uuid,
  given boolean,
  missed uuid[]
);

create type resolved_feedback as (
  id uuid,
  number bigint,
  wins boolean,
  contact resolution,
  account resolution,
  project resolution
);

create type said_claim as (
  key_id uuid,
  kind text,
  number bigint,
  target_id uuid,
  link boolean,
  decides boolean
);

create type said_feedback as (
  id uuid,
  description text,
  title text,
  is_transcript boolean,
  tags text[],
  rating double precision,
  source text,
  source_id text,
  source_data jsonb,
  number bigint,
  contact_ref jsonb,
  account_ref jsonb,
  project_ref jsonb
);

create type said_submission as (
  id uuid,
  number bigint,
  operation text,
  attempts integer,
  record uuid
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

create table account (
  workspace_id uuid not null,
  id uuid not null,
  name text generated always as (((facts -> 'c:name'::text) ->> 1)) stored,
  domain text generated always as (((facts -> 'c:domain'::text) ->> 1)) stored,
  contract_value numeric generated always as ((((facts -> 'c:contractValue'::text) ->> 1))::numeric) stored,
  source_created_at timestamp with time zone generated always as (offset_time(((facts -> 'c:createdAt'::text) ->> 1))) stored,
  source_updated_at timestamp with time zone generated always as (offset_time(((facts -> 'c:updatedAt'::text) ->> 1))) stored,
  properties jsonb generated always as (metadata(facts)) stored,
  created_at timestamp with time zone generated always as (acceptance_time(first_number)) stored,
  updated_at timestamp with time zone generated always as (acceptance_time(last_change(last_identify_number, facts))) stored,
  facts jsonb not null,
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
  properties jsonb generated always as (metadata(facts)) stored /* statistics 0 */,
  created_at timestamp with time zone generated always as (acceptance_time(first_number)) stored,
  updated_at timestamp with time zone generated always as (acceptance_time(last_change(last_identify_number, facts))) stored,
  facts jsonb not null /* statistics 0 */,
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
  facts jsonb default '{}'::jsonb not null /* statistics 0 */,
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

CREATE INDEX feedback_project ON feedback USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX fence_group ON fence USING btree (group_id) WHERE (group_id IS NOT NULL);

CREATE INDEX fence_id ON fence USING btree (id);

CREATE INDEX fence_next ON fence USING btree (next_id);

CREATE INDEX fence_number ON fence USING btree (number);

CREATE INDEX identity_claim_identified ON identity_claim USING btree (workspace_id, key_id, number) WHERE ((NOT link) AND decides);

CREATE INDEX identity_claim_target ON identity_claim USING btree (target_id);

CREATE INDEX identity_key_group ON identity_key USING btree (group_id) WHERE (group_id IS NOT NULL);

CREATE INDEX identity_key_subject ON identity_key USING btree (subject_id);

CREATE INDEX message_contact ON message USING btree (contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX message_conversation ON message USING btree (conversation_id);

CREATE INDEX submission_finished ON submission USING btree (finished_at);

CREATE INDEX superseded_reference_account ON superseded_reference USING btree (account_id) WHERE (account_id IS NOT NULL);

CREATE INDEX superseded_reference_contact ON superseded_reference USING btree (contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX superseded_reference_project ON superseded_reference USING btree (project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX tag_share_oldest ON tag_share USING btree (judged, workspace_id, number, record_id) INCLUDE (terms);

CREATE INDEX unresolved_reference_record ON unresolved_reference USING btree (record_id);

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

CREATE OR REPLACE FUNCTION acceptance_time(number bigint)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN to_timestamp(((number)::double precision / (1000000)::double precision))
;

CREATE OR REPLACE FUNCTION add_to_accounts(ws uuid, said account[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  news account[];
  is_known boolean;
begin
  select array_agg(s), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, first_number, last_identify_number, updated_at from account
    where workspace_id = ws and id = s.id offset 0
  ) as known on true
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or not (
      (known.updated_at < acceptance_time(s.first_number) and known.facts ?& array(select jsonb_object_keys(s.facts)))
      or merge_facts(known.facts, s.facts) = known.facts
    );
  if news is null then return; end if;
  if (select count(distinct id) < count(*) from unnest(news)) then
    news := array(
      select row(
        ws, s.id, null, null, null, null, null, null, null, null, all_facts(s.facts), min(s.first_number), max(s.last_identify_number)
      )::account
      from unnest(news) as s group by s.id
    );
  end if;
  if not is_known then
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, first_number, last_identify_number from unnest(news);
    return;
  end if;
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from account where workspace_id = ws and id = n.id offset 0) as known on true
  ),
  added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, first_number, last_identify_number from placed where place is null
  )
  update account as k set
    facts = merge_facts(k.facts, n.facts),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place;
end $function$
;

CREATE OR REPLACE FUNCTION add_to_contacts(ws uuid, said contact[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  news contact[];
  is_known boolean;
begin
  select array_agg(s), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, account_number, first_number, last_identify_number, updated_at from contact
    where workspace_id = ws and id = s.id offset 0
  ) as known on true
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or s.account_number > coalesce(known.account_number, 0)
    or not (
      (known.updated_at < acceptance_time(s.first_number) and known.facts ?& array(select jsonb_object_keys(s.facts)))
      or merge_facts(known.facts, s.facts) = known.facts
    );
  if news is null then return; end if;
  if (select count(distinct id) < count(*) from unnest(news)) then
    news := array(
      select row(
        ws, s.id, null, null, null,
        (array_agg(s.account_id order by s.account_number desc) filter (where s.account_id is not null))[1],
        null, null, null, null, null, all_facts(s.facts), max(s.account_number), min(s.first_number), max(s.last_identify_number)
      )::contact
      from unnest(news) as s group by s.id
    );
  end if;
  if not is_known then
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, first_number, last_identify_number from unnest(news);
    return;
  end if;
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from contact where workspace_id = ws and id = n.id offset 0) as known on true
  ),
  added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, first_number, last_identify_number from placed where place is null
  )
  update contact as k set
    facts = merge_facts(k.facts, n.facts),
    account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
    account_number = greatest(k.account_number, n.account_number),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place;
end $function$
;

CREATE OR REPLACE FUNCTION answer_feedback(ws uuid, incoming feedback[])
 RETURNS answered_feedback[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(
      f.number > coalesce(held.number, 0) and row_number() over (partition by f.id order by f.number desc) = 1,
      held.number is not null,
      (c.answer).id, (a.answer).id, (p.answer).id, (c.answer).given, (a.answer).given, (p.answer).given,
      (c.answer).missed || (a.answer).missed || (p.answer).missed
    )::answered_feedback
    from unnest(incoming) with ordinality as f
    left join lateral (select k.number from feedback as k where k.workspace_id = ws and k.id = f.id offset 0) as held on true,
      lateral (
        select case
          when f.contact_ref is null then row(null, false, '{}')::resolution
          when not f.contact_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.contact_ref ->> 'weak')::uuid offset 0
          ) then row((f.contact_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'contact', f.contact_ref, f.number, f.source)
        end as answer
        offset 0
      ) as c,
      lateral (
        select case
          when f.account_ref is null then row(null, false, '{}')::resolution
          when not f.account_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.account_ref ->> 'weak')::uuid offset 0
          ) then row((f.account_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'account', f.account_ref, f.number, f.source)
        end as answer
        offset 0
      ) as a,
      lateral (
        select case
          when f.project_ref is null then row(null, false, '{}')::resolution
          when not f.project_ref ? 'ids' then row((f.project_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'project', f.project_ref, f.number, f.source)
        end as answer
        offset 0
      ) as p
    order by f.ordinality
  );
end $function$
;

CREATE OR REPLACE FUNCTION answer_feedback(ws uuid, incoming said_feedback[])
 RETURNS answered_feedback[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(incoming));
begin
  return (
    select array_agg(
      row(
        f.number > coalesce(held.number, 0)
          and (not has_repeats or not exists (select from unnest(incoming) as o where o.id = f.id and o.number > f.number)),
        held.number is not null,
        (c.answer).id, (a.answer).id, (p.answer).id, (c.answer).given, (a.answer).given, (p.answer).given,
        (c.answer).missed || (a.answer).missed || (p.answer).missed
      )::answered_feedback
      order by f.ordinality
    )
    from unnest(incoming) with ordinality as f
    left join lateral (select k.number from feedback as k where k.workspace_id = ws and k.id = f.id offset 0) as held on true,
      lateral (
        select case
          when f.contact_ref is null then row(null, false, '{}')::resolution
          when not f.contact_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.contact_ref ->> 'weak')::uuid offset 0
          ) then row((f.contact_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'contact', f.contact_ref, f.number, f.source)
        end as answer
        offset 0
      ) as c,
      lateral (
        select case
          when f.account_ref is null then row(null, false, '{}')::resolution
          when not f.account_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.account_ref ->> 'weak')::uuid offset 0
          ) then row((f.account_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'account', f.account_ref, f.number, f.source)
        end as answer
        offset 0
      ) as a,
      lateral (
        select case
          when f.project_ref is null then row(null, false, '{}')::resolution
          when not f.project_ref ? 'ids' then row((f.project_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'project', f.project_ref, f.number, f.source)
        end as answer
        offset 0
      ) as p
  );
end $function$
;

CREATE OR REPLACE FUNCTION category_id(ws uuid, title text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (md5((((ws)::text || ':'::text) || title)))::uuid
;

CREATE OR REPLACE FUNCTION claim_at(ws uuid, weak uuid, n bigint)
 RETURNS identity_claim
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  found_claim identity_claim;
begin
  select * into found_claim from identity_claim
  where workspace_id = ws and key_id = weak and not link and decides and number <= n order by number desc limit 1;
  if found then return found_claim; end if;
  select * into found_claim from identity_claim
  where workspace_id = ws and key_id = weak and decides and number <= n order by number desc limit 1;
  if found then return found_claim; end if;
  select * into found_claim from identity_claim
  where workspace_id = ws and key_id = weak and decides and number > n order by number limit 1;
  return found_claim;
end $function$
;

CREATE OR REPLACE FUNCTION claim_ended_after(ws uuid, email uuid, n bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT c.ended FROM claims_at(claim_ended_after.ws, claim_ended_after.email, claim_ended_after.n) c(number, ended) ORDER BY (c.number <= claim_ended_after.n) DESC, CASE WHEN (c.number <= claim_ended_after.n) THEN (- c.number) ELSE c.number END LIMIT 1), false)
;

CREATE OR REPLACE FUNCTION claimed_subject(ws uuid, claim identity_claim, n bigint)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if claim.link then
    return resolve_weak(ws, claim.target_id, case when claim.number <= n then n else claim.number end);
  end if;
  return (select subject_id from identity_key where workspace_id = ws and id = claim.target_id);
end $function$
;

CREATE OR REPLACE FUNCTION claims_at(ws uuid, email uuid, n bigint)
 RETURNS TABLE(number bigint, ended boolean)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT c.number,
     false
    FROM identity_claim c
   WHERE ((c.workspace_id = claims_at.ws) AND (c.key_id = claims_at.email) AND c.decides AND (NOT c.link))
 UNION ALL
  SELECT f.number,
     true
    FROM fence_claim f
   WHERE ((f.workspace_id = claims_at.ws) AND (f.key_id = claims_at.email) AND (f.ended_number > claims_at.n));
END
;

CREATE OR REPLACE FUNCTION concerned_references(ws uuid, changed uuid[], appeared uuid[])
 RETURNS reference[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  subjects uuid[] := '{}';
  changed_text text[] := changed::text[];
begin
  if cardinality(changed) > 0 then
    subjects := coalesce(reach(ws, changed), '{}');
  end if;
  return array(
    select r from (
      select * from references_to(ws, 'contact', subjects) where mentions(contact_ref, changed_text)
      union
      select * from references_to(ws, 'account', subjects) where mentions(account_ref, changed_text)
      union
      select * from references_to(ws, 'project', subjects) where mentions(project_ref, changed_text)
      union
      select r.* from unnest(changed || appeared) as a (id),
        lateral (
          select record_id, number from unresolved_reference where workspace_id = ws and ref_id = a.id offset 0
        ) as u,
        lateral (
          select * from reference where workspace_id = ws and id = u.record_id and number = u.number offset 0
        ) as r
    ) as r
  );
end $function$
;

CREATE OR REPLACE FUNCTION conversation_text(ws uuid, conversation uuid, OUT version text, OUT content text)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), '')),
    coalesce(string_agg(m.content, E'\n' order by m.created_at, m.id), '')
  from message as m
  where m.workspace_id is not distinct from ws and m.conversation_id = conversation and m.incoming
$function$
;

CREATE OR REPLACE FUNCTION conversation_version(ws uuid, conversation uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), ''))
  from message as m
  where m.workspace_id is not distinct from ws and m.conversation_id = conversation and m.incoming
$function$
;

CREATE OR REPLACE FUNCTION count_off(ws uuid, tags text[])
 RETURNS void
 LANGUAGE sql
AS $function$
  select count_tags(ws, jsonb_object_agg(t.title, -t.uses))
  from (select title, count(*) as uses from unnest(tags) as g (title) group by title) as t
  having count(*) > 0
$function$
;

CREATE OR REPLACE FUNCTION count_settled()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'UPDATE' then
    insert into ledger as l (workspace_id, state, submissions, highest_number)
    select workspace_id, state, sum(change), max(acceptance_number) from (
      select workspace_id, state, acceptance_number, 1 as change from after_rows
      union all
      select workspace_id, state, acceptance_number, -1 from before_rows
    ) as changes
    group by workspace_id, state having sum(change) <> 0 order by workspace_id, state
    on conflict (workspace_id, state) do update
    set submissions = l.submissions + excluded.submissions, highest_number = greatest(l.highest_number, excluded.highest_number);
  else
    insert into ledger as l (workspace_id, state, submissions, highest_number)
    select workspace_id, state, count(*), max(acceptance_number) from after_rows
    group by workspace_id, state order by workspace_id, state
    on conflict (workspace_id, state) do update
    set submissions = l.submissions + excluded.submissions, highest_number = greatest(l.highest_number, excluded.highest_number);
  end if;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION count_shares()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  change int := case tg_op when 'INSERT' then 1 else -1 end;
  ws uuid;
  emptied bigint[];
begin
  for ws in select distinct workspace_id from shares order by workspace_id loop
    insert into tag_memory as k (workspace_id, texts, judged, given, judged_terms, terms)
    select ws, change * count(*), change * count(*) filter (where judged), change * sum(given),
      change * coalesce(sum(terms) filter (where judged), 0), change * sum(terms)
    from shares where workspace_id = ws
    on conflict (workspace_id) do update set
      texts = k.texts + excluded.texts, judged = k.judged + excluded.judged, given = k.given + excluded.given,
      judged_terms = k.judged_terms + excluded.judged_terms, terms = k.terms + excluded.terms;
    delete from tag_memory where workspace_id = ws and texts <= 0;
    with changed as (
      insert into tag_term as k (workspace_id, hash, texts, determined, free, valued, judged, given)
      select ws, t.hash, change * count(*), change * count(*) filter (where t.traits & 1 <> 0),
        change * count(*) filter (where t.traits & 2 <> 0), change * count(*) filter (where t.traits & 4 <> 0),
        change * count(*) filter (where s.judged), change * count(*) filter (where t.traits & 8 <> 0)
      from shares as s, unnest(s.hashes, s.traits) as t (hash, traits)
      where s.workspace_id = ws
      group by t.hash order by t.hash
      on conflict (workspace_id, hash) do update set
        texts = k.texts + excluded.texts, determined = k.determined + excluded.determined, free = k.free + excluded.free,
        valued = k.valued + excluded.valued, judged = k.judged + excluded.judged, given = k.given + excluded.given
      returning hash, texts
    )
    select array_agg(hash) filter (where texts <= 0) into emptied from changed;
    delete from tag_term where workspace_id = ws and hash = any (emptied);
    with changed as (
      insert into tag_in_use as k (workspace_id, hash, title_id, title, people, generated)
      select ws, t.hash, md5(t.title)::uuid, t.title,
        change * count(*) filter (where s.judged), change * count(*) filter (where not s.judged)
      from shares as s, unnest(s.tag_hashes, s.titles) as t (hash, title)
      where s.workspace_id = ws
      group by t.hash, t.title order by t.hash, md5(t.title)
      on conflict (workspace_id, hash, title_id) do update set
        people = k.people + excluded.people, generated = k.generated + excluded.generated
      returning hash, people + generated as uses
    )
    select array_agg(distinct hash) filter (where uses <= 0) into emptied from changed;
    delete from tag_in_use where workspace_id = ws and hash = any (emptied) and people <= 0 and generated <= 0;
  end loop;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION count_tags(ws uuid, deltas jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into feedback_category as c (workspace_id, id, title, uses)
  select ws, category_id(ws, key), key, value::bigint from jsonb_each_text(deltas) where value <> '0'
  order by category_id(ws, key)
  on conflict (workspace_id, id) do update set uses = c.uses + excluded.uses;
  delete from feedback_category
  where workspace_id = ws and uses <= 0
    and id = any (array(select category_id(ws, key) from jsonb_each_text(deltas) where starts_with(value, '-')));
end $function$
;

CREATE OR REPLACE FUNCTION decide_purge(ws uuid, wanted wanted_purge)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  doomed uuid[];
  remembered uuid := case when is_remembered(ws, wanted."group") then wanted."group" end;
  gone int;
begin
  if exists (select from purge where workspace_id = ws and id = wanted.id)
     or exists (select from submission where workspace_id = ws and id = wanted.id and state <> 'dead') then
    return;
  end if;
  doomed := array(
    select matching_contacts(ws, wanted."group", id_at(ws, wanted.email, wanted.number), wanted.source)
  );
  perform end_keys(ws, doomed, wanted.number);
  insert into fence (workspace_id, key_id, number, id, next_id, group_id)
  select ws, remembered, wanted.number, id_at(ws, remembered, wanted.number), id_after_purge(remembered, wanted.number), remembered
  where remembered is not null
  on conflict do nothing;
  delete from contact where workspace_id = ws and id = any (doomed);
  get diagnostics gone = row_count;
  insert into purge (workspace_id, id, number, contact_ids, remembered, keys, contacts)
  values (
    ws, wanted.id, wanted.number, doomed, remembered,
    array(
      select unnest(array_remove(array[key_id, group_id], null)) from fence
      where workspace_id is not distinct from ws and number = wanted.number
      union select unnest(array_remove(array[wanted."group", wanted.email], null))
    ),
    gone
  );
end $function$
;

CREATE OR REPLACE FUNCTION derive_conversation_contacts(ws uuid, conversations uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if cardinality(conversations) = 0 then return; end if;
  perform remove_before(ws, '{}', conversations);
  delete from conversation_contact where workspace_id = ws and conversation_id = any (conversations);
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from unnest(conversations) as of_id (id),
    lateral (select id, contact_keys from conversation where workspace_id = ws and id = of_id.id offset 0) as c,
    unnest(c.contact_keys) as key (id),
    lateral (select subject_id from identity_key where workspace_id = ws and id = key.id offset 0) as k;
end $function$
;

CREATE OR REPLACE FUNCTION doomed_conversations(ws uuid, p purge, most integer)
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
RETURN ARRAY(SELECT DISTINCT found.conversation_id FROM (SELECT o.conversation_id FROM unnest((doomed_conversations.p).contact_ids) c(id), LATERAL (SELECT conversation_contact.conversation_id FROM conversation_contact WHERE ((NOT (conversation_contact.workspace_id IS DISTINCT FROM doomed_conversations.ws)) AND (conversation_contact.contact_id = c.id)) LIMIT doomed_conversations.most) o UNION ALL SELECT o.conversation_id FROM unnest((doomed_conversations.p).contact_ids) c(id), LATERAL (SELECT message.conversation_id FROM message WHERE ((NOT (message.workspace_id IS DISTINCT FROM doomed_conversations.ws)) AND (message.contact_id = c.id)) LIMIT doomed_conversations.most) o UNION ALL SELECT m.conversation_id FROM unresolved_reference u, LATERAL (SELECT k.conversation_id, k.number FROM message k WHERE ((k.workspace_id = doomed_conversations.ws) AND (k.id = u.record_id) AND (k.contact_id IS NULL)) OFFSET 0) m WHERE ((u.workspace_id = doomed_conversations.ws) AND (u.ref_id = (doomed_conversations.p).remembered) AND (m.number < (doomed_conversations.p).number)) LIMIT doomed_conversations.most) found)
;

CREATE OR REPLACE FUNCTION doomed_feedback(ws uuid, p purge, most integer)
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
RETURN ARRAY(SELECT f.id FROM unnest((doomed_feedback.p).contact_ids) c(id), LATERAL (SELECT feedback.id FROM feedback WHERE ((NOT (feedback.workspace_id IS DISTINCT FROM doomed_feedback.ws)) AND (feedback.contact_id = c.id)) LIMIT doomed_feedback.most) f UNION ALL SELECT f.id FROM unresolved_reference u, LATERAL (SELECT k.id FROM feedback k WHERE ((k.workspace_id = doomed_feedback.ws) AND (k.id = u.record_id) AND (k.number = u.number) AND (k.contact_id IS NULL) AND (((k.contact_ref -> 'ids'::text) ->> '-1'::integer) = ((doomed_feedback.p).remembered)::text)) OFFSET 0) f WHERE ((u.workspace_id = doomed_feedback.ws) AND (u.ref_id = (doomed_feedback.p).remembered) AND (u.number < (doomed_feedback.p).number)) LIMIT doomed_feedback.most)
;

CREATE OR REPLACE FUNCTION end_keys(ws uuid, contacts uuid[], at_number bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  keys uuid[];
  emails uuid[];
begin
  keys := array(
    select k.id from unnest(contacts) as c (id),
      lateral (
        select id from identity_key
        where workspace_id is not distinct from ws and subject_id = c.id and kind in ('contact_external', 'contact_bare', 'contact_record') offset 0
      ) as k
  );
  emails := array(
    select c.key_id from unnest(keys) as k (id),
      lateral (select key_id from identity_claim where workspace_id is not distinct from ws and target_id = k.id offset 0) as c
    union
    select id from identity_key where workspace_id = ws and id = any (contacts) and kind = 'contact_email'
  );
  update identity_key as k set orphaned = true
  where k.workspace_id = ws and k.id = any (emails) and (
    select c.target_id from identity_claim as c
    where c.workspace_id = ws and c.key_id = k.id and c.decides order by c.number limit 1
  ) = any (keys);
  -- Keys that were taken for an external id's home until an older identify came: nobody is meant by them.
  delete from identity_key where workspace_id is not distinct from ws and ctid = any (array(
    select n.ctid from identity_key as k,
      lateral (
        select ctid from identity_key
        where workspace_id is not distinct from ws and group_id = k.group_id and exists_from is null and kind = 'contact_external' offset 0
      ) as n
    where k.workspace_id = ws and k.id = any (keys)
  ));
  insert into fence_claim (workspace_id, key_id, number, ended_number)
  select ws, c.key_id, c.number, at_number
  from unnest(keys) as k (id),
    lateral (
      select key_id, number from identity_claim
      where workspace_id is not distinct from ws and target_id = k.id and decides offset 0
    ) as c
  where exists (
    select from identity_claim as o
    where o.workspace_id = ws and o.key_id = c.key_id and o.decides and o.target_id <> all (keys) offset 0
  )
  on conflict do nothing;
  delete from identity_claim where workspace_id is not distinct from ws and ctid = any (array(
    select c.ctid from unnest(keys) as k (id),
      lateral (select ctid from identity_claim where workspace_id is not distinct from ws and target_id = k.id offset 0) as c
  ));
  delete from contact_external_id where workspace_id = ws and key_id = any (keys);
  with ended as (
    delete from identity_key as k
    where k.workspace_id = ws and k.id = any (keys || emails) and (
      k.id = any (keys)
      or not exists (select from identity_claim as c where c.workspace_id = ws and c.key_id = k.id and c.decides offset 0)
    )
    returning k.id, k.kind, k.group_id, k.source, k.exists_from, key_of(ws, k.id) as key
  ),
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id, group_id, source_hash, from_number)
    select ws, key, at_number, id, id_after_purge(key, at_number), group_id,
      case when kind = 'contact_external' then hash_of_source(key, source) end, exists_from
    from ended
    on conflict do nothing
  )
  -- Those whose email it is without it meaning them: they have it still.
  update identity_claim as c set key_id = id_after_purge(e.key, at_number)
  from ended as e,
    lateral (select ctid as place from identity_claim where workspace_id = ws and key_id = e.id offset 0) as held
  where c.workspace_id is not distinct from ws and c.ctid = held.place;
end $function$
;

CREATE OR REPLACE FUNCTION ended_after(ws uuid, key uuid, n bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM fence f WHERE ((f.workspace_id = ended_after.ws) AND (f.key_id = ended_after.key) AND (f.number > ended_after.n))))
;

CREATE OR REPLACE FUNCTION ended_messages(ws uuid, in_conversations uuid[])
 RETURNS TABLE(place tid, id uuid, conversation_id uuid, purge_id uuid)
 LANGUAGE sql
 STABLE
AS $function$
  select m.place, m.id, m.conversation_id, p.id
  from (select * from purge where workspace_id = ws offset 0) as p,
    unnest(in_conversations) as c (id),
    lateral (
      select ctid as place, * from message as held where held.workspace_id is not distinct from ws and held.conversation_id = c.id offset 0
    ) as m
  where m.contact_id = any (p.contact_ids)
    or (m.contact_id is null and m.number < p.number and exists (
      select from unresolved_reference as u
      where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = m.id offset 0
    ))
$function$
;

CREATE OR REPLACE FUNCTION external_ended_after(ws uuid, external_group uuid, n bigint, own_source text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT keys.ended FROM (SELECT (NOT (identity_key.source IS DISTINCT FROM external_ended_after.own_source)) AS is_own, identity_key.exists_from AS from_number, false AS ended, key_of(external_ended_after.ws, identity_key.id) AS key FROM identity_key WHERE ((NOT (identity_key.workspace_id IS DISTINCT FROM external_ended_after.ws)) AND (identity_key.group_id = external_ended_after.external_group) AND (identity_key.kind = 'contact_external'::text) AND (identity_key.exists_from IS NOT NULL)) UNION ALL SELECT (NOT (fence.source_hash IS DISTINCT FROM hash_of_source(fence.key_id, external_ended_after.own_source))), COALESCE(fence.from_number, fence.number) AS "coalesce", true, fence.key_id FROM fence WHERE ((NOT (fence.workspace_id IS DISTINCT FROM external_ended_after.ws)) AND (fence.group_id = external_ended_after.external_group) AND (fence.number > external_ended_after.n) AND ((fence.source_hash IS NOT NULL) OR (fence.from_number IS NULL)))) keys ORDER BY (keys.from_number < external_ended_after.n) DESC, ((keys.from_number < external_ended_after.n) AND (NOT keys.is_own)), keys.from_number, keys.key LIMIT 1), false)
;

CREATE OR REPLACE FUNCTION forget_dead()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from dead_submission as d using after_rows as s
  where s.state in ('applied', 'superseded', 'purged') and d.workspace_id = s.workspace_id and d.id = s.id;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION forget_oldest(ws uuid, of_people boolean, excess bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if coalesce(excess, 0) <= 0 then return; end if;
  perform take_out(ws, array(
    select record_id from (
      select record_id, sum(terms) over (order by number, record_id) - terms as before
      from (
        -- A share has a term or more, but for texts that say nothing: a bound to what one call looks at.
        select record_id, number, terms from tag_share
        where workspace_id = ws and judged = of_people order by number, record_id limit least(excess, 10000)
      ) as oldest
    ) as summed
    where before < excess
  ));
end $function$
;

CREATE OR REPLACE FUNCTION forget_tagger()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.tagger_version := null;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION gather(ws uuid, subjects uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from contact where workspace_id = ws and id = any (subjects);
  insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
  select ws, said.id, all_facts(said.facts),
    (array_agg(said.account_id order by said.account_number desc) filter (where said.account_id is not null))[1],
    max(said.account_number), min(said.first_number), max(said.last_number)
  from (
    select s.id, k.facts, k.account_id, k.account_number, k.said_from as first_number, k.last_number
    from unnest(subjects) as s (id),
      lateral (
        select * from identity_key
        where workspace_id is not distinct from ws and subject_id = s.id and kind in ('contact_external', 'contact_bare') and said_from is not null
        offset 0
      ) as k
    union all
    select contact_id, contact_ref -> 'given', null, null, number, null from references_to(ws, 'contact', subjects)
    where contact_given
  ) as said
  group by said.id;
  delete from account where workspace_id = ws and id = any (subjects);
  insert into account (workspace_id, id, facts, first_number, last_identify_number)
  select ws, said.id, all_facts(said.facts), min(said.first_number), max(said.last_number)
  from (
    select s.id, k.facts, k.said_from as first_number, k.last_number
    from unnest(subjects) as s (id),
      lateral (
        select * from identity_key
        where workspace_id is not distinct from ws and subject_id = s.id and kind = 'account_external' and said_from is not null offset 0
      ) as k
    union all
    select account_id, account_ref -> 'given', number, null from references_to(ws, 'account', subjects)
    where account_given
  ) as said
  group by said.id;
  delete from project where workspace_id = ws and id = any (subjects);
  insert into project (workspace_id, id, name, first_number)
  select ws, project_id, min(project_ref -> 'given' ->> 'name'), min(number) from references_to(ws, 'project', subjects)
  where project_given
  group by project_id;
end $function$
;

CREATE OR REPLACE FUNCTION give_up_replay(ws uuid, dead_id uuid, after interval)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform lock_workspaces(array[ws]);
  update submission as s set state = 'dead', error = d.reason, finished_at = d.died_at
  from dead_submission as d
  where s.workspace_id = ws and s.id = dead_id and s.state = 'queued'
    and d.workspace_id = ws and d.id = dead_id and d.replayed_at <= now() - after;
  if not found then return false; end if;
  update dead_submission set replayed_at = null where workspace_id = ws and id = dead_id;
  return true;
end $function$
;

CREATE OR REPLACE FUNCTION given_of(ref jsonb, number bigint)
 RETURNS given_reference
 LANGUAGE sql
 IMMUTABLE
RETURN ROW((ref ->> 'weakKind'::text), ((ref ->> 'weak'::text))::uuid, ((ref ->> 'nameKey'::text))::uuid, number)::given_reference
;

CREATE OR REPLACE FUNCTION hash_of_source(key uuid, source text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (md5((((key)::text || ':'::text) || source)))::uuid
;

CREATE OR REPLACE FUNCTION id_after_purge(key uuid, number bigint)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (OVERLAY(OVERLAY(md5((((key)::text || ':'::text) || number)) PLACING '8'::text FROM 13 FOR 1) PLACING '8'::text FROM 17 FOR 1))::uuid
;

CREATE OR REPLACE FUNCTION id_at(ws uuid, key uuid, n bigint)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT f.next_id FROM fence f WHERE ((f.workspace_id = id_at.ws) AND (f.key_id = id_at.key) AND (f.number < id_at.n)) ORDER BY f.number DESC LIMIT 1), key)
;

CREATE OR REPLACE FUNCTION is_conversation_ended(ws uuid, conversation jsonb, messages jsonb, n bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (SELECT COALESCE(bool_and(theirs.ended), false) AS "coalesce" FROM (SELECT ended_after(is_conversation_ended.ws, (key.value)::uuid, is_conversation_ended.n) AS ended FROM jsonb_array_elements_text((is_conversation_ended.conversation -> 'contact_keys'::text)) key(value) UNION ALL SELECT is_reference_ended(is_conversation_ended.ws, (m.value -> 'contact_ref'::text), is_conversation_ended.n, (m.value ->> 'source'::text)) AS is_reference_ended FROM jsonb_array_elements(is_conversation_ended.messages) m(value) WHERE (((m.value -> 'conversation_id'::text) = (is_conversation_ended.conversation -> 'id'::text)) AND ((m.value -> 'number'::text) = (is_conversation_ended.conversation -> 'number'::text)) AND ((m.value -> 'contact_ref'::text) <> 'null'::jsonb))) theirs)
;

CREATE OR REPLACE FUNCTION is_fenced(ws uuid, mentioned uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if not exists (select from fence where workspace_id = ws) then return false; end if;
  return exists (
    select from unnest(mentioned) as m (id),
      lateral (
        select from fence where workspace_id = ws and key_id = m.id
        union all select from fence where workspace_id is not distinct from ws and group_id = m.id
        union all select from fence as f where f.workspace_id is not distinct from ws and f.id = m.id
        union all select from fence_claim where workspace_id = ws and key_id = m.id
        offset 0
      ) as f
  );
end $function$
;

CREATE OR REPLACE FUNCTION is_reference_ended(ws uuid, ref jsonb, n bigint, own_source text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN ((ref IS NOT NULL) AND (((ref ? 'weak'::text) AND ended_after(ws, ((ref ->> 'weak'::text))::uuid, n)) OR (((ref ->> 'weakKind'::text) = 'contact_email'::text) AND claim_ended_after(ws, id_at(ws, ((ref ->> 'weak'::text))::uuid, n), n)) OR ((ref ? 'preferred'::text) AND ended_after(ws, ((ref ->> 'preferred'::text))::uuid, n)) OR ((ref ? 'ids'::text) AND ((ref -> 'own'::text))::boolean AND (EXISTS (SELECT FROM jsonb_array_elements_text((is_reference_ended.ref -> 'ids'::text)) i(value) WHERE (owner_ended_after(is_reference_ended.ws, (i.value)::uuid, is_reference_ended.n) OR (EXISTS (SELECT FROM fence f WHERE ((NOT (f.workspace_id IS DISTINCT FROM is_reference_ended.ws)) AND (f.id = (i.value)::uuid) AND (f.number > is_reference_ended.n)))))))) OR ((ref ? 'ids'::text) AND (NOT ((ref -> 'own'::text))::boolean) AND (NOT (ref ? 'preferred'::text)) AND (EXISTS (SELECT FROM jsonb_array_elements_text((is_reference_ended.ref -> 'ids'::text)) i(value) WHERE external_ended_after(is_reference_ended.ws, (i.value)::uuid, is_reference_ended.n, is_reference_ended.own_source))))))
;

CREATE OR REPLACE FUNCTION is_remembered(ws uuid, external_group uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM unresolved_reference u, LATERAL (SELECT reference.contact_id, reference.contact_ref FROM reference WHERE ((reference.workspace_id = is_remembered.ws) AND (reference.id = u.record_id) AND (reference.number = u.number)) OFFSET 0) r WHERE ((u.workspace_id = is_remembered.ws) AND (u.ref_id = is_remembered.external_group) AND (r.contact_id IS NULL) AND (((r.contact_ref -> 'ids'::text) ->> '-1'::integer) = (is_remembered.external_group)::text) AND (NOT (EXISTS (SELECT FROM fence f WHERE ((NOT (f.workspace_id IS DISTINCT FROM is_remembered.ws)) AND (f.group_id = is_remembered.external_group) AND (f.number >= u.number))))))))
;

CREATE OR REPLACE FUNCTION keep_superseded(ws uuid, incoming feedback[], answers answered_feedback[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  replaced feedback[] := array(
    select k from rows from (unnest(incoming), unnest(answers)) as f,
      lateral (select k from feedback as k where k.workspace_id = ws and k.id = f.id offset 0) as held (k)
    where f.wins and f.replaces
  );
begin
  insert into superseded_reference (
    workspace_id, id, number, source, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, held.id, held.number, held.source, held.contact_id, held.account_id, held.project_id,
    held.contact_ref, held.account_ref, held.project_ref, held.contact_given, held.account_given, held.project_given
  from unnest(replaced) as held
  where held.contact_ref ? 'weak' or held.account_ref ? 'weak' or held.project_ref ? 'weak'
  union all
  select ws, f.id, f.number, f.source, f.contact, f.account, f.project,
    f.contact_ref, f.account_ref, f.project_ref, f.by_contact, f.by_account, f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f
  where not f.wins and (f.contact_ref ? 'weak' or f.account_ref ? 'weak' or f.project_ref ? 'weak')
    and not exists (select from feedback as k where k.workspace_id = ws and k.id = f.id and k.number = f.number offset 0)
  on conflict do nothing;
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from unnest(replaced) as held,
      lateral (
        select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = held.id and number = held.number offset 0
      ) as u
    where not exists (
      select from superseded_reference as s where s.workspace_id = ws and s.id = held.id and s.number = held.number offset 0
    )
  ));
  perform count_tags(ws, jsonb_object_agg(t.title, -t.uses))
  from (select g.title, count(*) as uses from unnest(replaced) as held, unnest(held.tags) as g (title) group by g.title) as t
  having count(*) > 0;
end $function$
;

CREATE OR REPLACE FUNCTION key_of(ws uuid, own uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT f.key_id FROM fence f WHERE ((NOT (f.workspace_id IS DISTINCT FROM key_of.ws)) AND (f.next_id = key_of.own))), own)
;

CREATE OR REPLACE FUNCTION known_tags(ws uuid, wanted bigint[], except_records uuid[])
 RETURNS TABLE(hash bigint, title text, people integer, generated integer)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
  with own as (
    select t.hash, t.title, (count(*) filter (where s.judged))::int as people,
      (count(*) filter (where not s.judged))::int as generated
    from shares_of(ws, except_records) as s, unnest(s.tag_hashes, s.titles) as t (hash, title)
    group by t.hash, t.title
  )
  select k.hash, k.title, k.people - coalesce(o.people, 0), k.generated - coalesce(o.generated, 0)
  from tag_in_use as k left join own as o on o.hash = k.hash and o.title = k.title
  where k.workspace_id = ws and k.hash = any (wanted)
    and (k.people > coalesce(o.people, 0) or k.generated > coalesce(o.generated, 0))
$function$
;

CREATE OR REPLACE FUNCTION known_terms(ws uuid, wanted bigint[], except_records uuid[])
 RETURNS TABLE(hash bigint, texts integer, determined integer, free integer, valued integer, judged integer, given integer)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
  with own as (
    select t.hash, count(*)::int as texts, (count(*) filter (where t.traits & 1 <> 0))::int as determined,
      (count(*) filter (where t.traits & 2 <> 0))::int as free, (count(*) filter (where t.traits & 4 <> 0))::int as valued,
      (count(*) filter (where s.judged))::int as judged, (count(*) filter (where t.traits & 8 <> 0))::int as given
    from shares_of(ws, except_records) as s, unnest(s.hashes, s.traits) as t (hash, traits)
    group by t.hash
  )
  select k.hash, k.texts - coalesce(o.texts, 0), k.determined - coalesce(o.determined, 0), k.free - coalesce(o.free, 0),
    k.valued - coalesce(o.valued, 0), k.judged - coalesce(o.judged, 0), k.given - coalesce(o.given, 0)
  from tag_term as k left join own as o on o.hash = k.hash
  where k.workspace_id = ws and k.hash = any (wanted) and k.texts > coalesce(o.texts, 0)
$function$
;

CREATE OR REPLACE FUNCTION known_texts(ws uuid, except_records uuid[])
 RETURNS TABLE(texts bigint, judged bigint, given bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select k.texts - o.texts, k.judged - o.judged, k.given - o.given
  from tag_memory as k, (
    select count(*) as texts, count(*) filter (where s.judged) as judged, coalesce(sum(s.given), 0) as given
    from shares_of(ws, except_records) as s
  ) as o
  where k.workspace_id = ws
$function$
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

CREATE OR REPLACE FUNCTION link_anew(ws uuid, moved relinked[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update feedback as f
  set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
    contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
  from unnest(moved) as m,
    lateral (select ctid as place from feedback where workspace_id = ws and id = m.id offset 0) as held
  where m.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  update superseded_reference as f
  set contact_id = (m.contact).id, account_id = (m.account).id, project_id = (m.project).id,
    contact_given = (m.contact).given, account_given = (m.account).given, project_given = (m.project).given
  from unnest(moved) as m,
    lateral (
      select ctid as place from superseded_reference where workspace_id = ws and id = m.id and number = m.number offset 0
    ) as held
  where m.record = 'superseded' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  perform remove_before(ws, '{}', array(
    select t.conversation_id
    from unnest(moved) as m, lateral (select conversation_id from message where workspace_id = ws and id = m.id offset 0) as t
    where m.record = 'message'
  ));
  update message as f set contact_id = (m.contact).id
  from unnest(moved) as m, lateral (select ctid as place from message where workspace_id = ws and id = m.id offset 0) as held
  where m.record = 'message' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  perform remember_unresolved(ws, m.id, m.number, (m.contact).missed || (m.account).missed || (m.project).missed)
  from unnest(moved) as m;
end $function$
;

CREATE OR REPLACE FUNCTION list_external_ids(ws uuid, groups uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  keys identity_key[] := array(
    select k from unnest(groups) as g (id),
      lateral (select k from identity_key as k where k.workspace_id is not distinct from ws and k.group_id = g.id offset 0) as members (k)
  );
begin
  delete from contact_external_id
  where workspace_id = ws and key_id = any (array(select id from unnest(keys) where kind = 'contact_external' and exists_from is null));
  insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id)
  select ws, id, source, external_id, id from unnest(keys) where kind = 'contact_external' and exists_from is not null
  on conflict do nothing;
  insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
  select ws, id, source, external_id, id from unnest(keys) where kind = 'account_external' and exists_from is not null
  on conflict (workspace_id, key_id) do update set source = excluded.source;
end $function$
;

CREATE OR REPLACE FUNCTION lock_workspaces(workspaces uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended(w::text, 0))
  from (select distinct w from unnest(workspaces) as w order by w) as ordered;
end $function$
;

CREATE OR REPLACE FUNCTION matching_contacts(ws uuid, external_group uuid, email_key uuid, in_source text)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE
AS $function$
  select subject_id from identity_key
  where workspace_id is not distinct from ws and group_id = external_group and kind = 'contact_external' and exists_from is not null
    and (in_source is null or source = in_source)
  union
  select c.id
  from (
    select resolve_weak(ws, email_key, 9223372036854775807) as id
    where email_key is not null
    union
    select k.subject_id
    from (select target_id from identity_claim where workspace_id = ws and key_id = email_key offset 0) as c,
      lateral (select subject_id from identity_key where workspace_id = ws and id = c.target_id offset 0) as k,
      lateral (select facts from contact where workspace_id = ws and id = k.subject_id offset 0) as t
    where t.facts -> 'k:email' ->> 1 = key_of(ws, email_key)::text
  ) as found,
    lateral (select id from contact where workspace_id = ws and id = found.id offset 0) as c
  where in_source is null
    or exists (select from contact_external_id as e where e.workspace_id is not distinct from ws and e.contact_id = c.id and e.source = in_source offset 0)
    or (in_source = 'API' and not exists (select from contact_external_id as e where e.workspace_id is not distinct from ws and e.contact_id = c.id offset 0))
$function$
;

CREATE OR REPLACE FUNCTION mentions(ref jsonb, ids text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN COALESCE((((ref -> 'ids'::text) ?| ids) OR ((ref ->> 'weak'::text) = ANY (ids)) OR ((ref ->> 'preferred'::text) = ANY (ids))), false)
;

CREATE OR REPLACE FUNCTION mentions_of(part jsonb)
 RETURNS uuid[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array(
    select u.id::uuid from jsonb_array_elements(part -> 'keys') as k,
      lateral (values (k ->> 'id'), (k ->> 'group_id'), (k ->> 'home_id')) as u (id) where u.id is not null
    union
    select u.id::uuid from jsonb_array_elements(part -> 'claims') as c, lateral (values (c ->> 'key_id'), (c ->> 'target_id')) as u (id)
    union
    select (f ->> 'id')::uuid from jsonb_array_elements(part -> 'feedback') as f where f ->> 'source_id' is not null
    union
    select u.id::uuid
    from (
      select f -> 'contact_ref' as ref from jsonb_array_elements(part -> 'feedback') as f
      union all
      select m -> 'contact_ref' from jsonb_array_elements(part -> 'messages') as m
    ) as r,
      lateral (
        select r.ref ->> 'weak' union all select r.ref ->> 'preferred'
        union all select jsonb_array_elements_text(r.ref -> 'ids')
      ) as u (id)
    where jsonb_typeof(r.ref) = 'object' and u.id is not null
    union
    select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c
    union
    select key::uuid from jsonb_array_elements(part -> 'conversations') as c, jsonb_array_elements_text(c -> 'contact_keys') as key
    union
    select (m ->> 'id')::uuid from jsonb_array_elements(part -> 'messages') as m
  )
$function$
;

CREATE OR REPLACE FUNCTION merge_facts(a jsonb, b jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
declare
  rank jsonb;
begin
  if a = '{}' then return b; end if;
  if b = '{}' or a @> b then return a; end if;
  -- What one submission says has one rank. Mostly it is above or below all that is known.
  rank := jsonb_build_object('rank', jsonb_path_query_first(b, '$.*[0]'));
  if not jsonb_path_exists(b, '$.*[0] ? (@ != $rank)', rank) then
    if not jsonb_path_exists(a, '$.*[0] ? (@ >= $rank)', rank) then return a || b; end if;
    if not jsonb_path_exists(a, '$.*[0] ? (@ <= $rank)', rank) then return b || a; end if;
  end if;
  return (
    select jsonb_object_agg(key, value)
    from (
      select distinct on (key) key, value
      from (select key, value from jsonb_each(a) union all select key, value from jsonb_each(b)) as f
      order by key, (value ->> 0)::bigint desc, value::text
    ) as winners
  );
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

CREATE OR REPLACE FUNCTION owner_ended_after(ws uuid, email uuid, n bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT c.ended FROM claims_at(owner_ended_after.ws, owner_ended_after.email, owner_ended_after.n) c(number, ended) ORDER BY c.number LIMIT 1), false)
;

CREATE OR REPLACE FUNCTION past_fences(ws uuid, part jsonb, OUT passed jsonb, OUT refused bigint[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  passed := part;
  refused := '{}';
  -- Mostly nobody was ever purged, and the keys need not be read.
  if not exists (select from fence where workspace_id = ws) then return; end if;
  if not is_fenced(ws, mentions_of(part)) then return; end if;
  refused := array(
    select (f ->> 'number')::bigint from jsonb_array_elements(part -> 'feedback') as f
    where is_reference_ended(ws, nullif(f -> 'contact_ref', 'null'), (f ->> 'number')::bigint, f ->> 'source')
      or ended_after(ws, (f ->> 'id')::uuid, (f ->> 'number')::bigint)
    union
    select (k ->> 'said_from')::bigint from jsonb_array_elements(part -> 'keys') as k
    where ended_after(ws, (k ->> 'id')::uuid, (k ->> 'said_from')::bigint)
      and not exists (
        select from jsonb_array_elements(part -> 'conversations') as c where c -> 'number' = k -> 'said_from'
      )
    union
    select n from jsonb_array_elements(part -> 'conversations') as c, lateral (select (c ->> 'number')::bigint) as s (n)
    where is_conversation_ended(ws, c, part -> 'messages', n) or ended_after(ws, (c ->> 'id')::uuid, n)
  );
  passed := passed
    || case when part ? 'keys' then jsonb_build_object(
      'keys', (
        select coalesce(jsonb_agg(
          k || jsonb_build_object('id', id_at(ws, (k ->> 'id')::uuid, n), 'home_id', id_at(ws, (k ->> 'home_id')::uuid, n))
        ), '[]')
        from jsonb_array_elements(part -> 'keys') as k, lateral (select (k ->> 'said_from')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (k ->> 'id')::uuid, n)
      ),
      'claims', (
        select coalesce(jsonb_agg(
          c || jsonb_build_object('key_id', id_at(ws, (c ->> 'key_id')::uuid, n), 'target_id', id_at(ws, (c ->> 'target_id')::uuid, n))
        ), '[]')
        from jsonb_array_elements(part -> 'claims') as c, lateral (select (c ->> 'number')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (c ->> 'target_id')::uuid, n)
          and not ended_after(ws, (c ->> 'key_id')::uuid, n)
      )
    ) else '{}' end
    || case when part ? 'feedback' then jsonb_build_object('feedback', (
      select coalesce(jsonb_agg(
        f || jsonb_build_object('contact_ref', reference_at(ws, nullif(f -> 'contact_ref', 'null'), n))
      ), '[]')
      from jsonb_array_elements(part -> 'feedback') as f, lateral (select (f ->> 'number')::bigint) as s (n)
      where n <> all (refused)
    )) else '{}' end
    || case when part ? 'conversations' then jsonb_build_object(
      'conversations', (
        select coalesce(jsonb_agg(c || jsonb_build_object('contact_keys', (
          select coalesce(jsonb_agg(id_at(ws, key::uuid, n)), '[]') from jsonb_array_elements_text(c -> 'contact_keys') as key
          where not ended_after(ws, key::uuid, n)
        ))), '[]')
        from jsonb_array_elements(part -> 'conversations') as c, lateral (select (c ->> 'number')::bigint) as s (n)
        where n <> all (refused)
      ),
      'messages', (
        select coalesce(jsonb_agg(m || jsonb_build_object('contact_ref', reference_at(ws, nullif(m -> 'contact_ref', 'null'), n))), '[]')
        from jsonb_array_elements(part -> 'messages') as m, lateral (select (m ->> 'number')::bigint) as s (n)
        where n <> all (refused) and not ended_after(ws, (m ->> 'id')::uuid, n)
          and not is_reference_ended(ws, nullif(m -> 'contact_ref', 'null'), n, m ->> 'source')
      )
    ) else '{}' end;
end $function$
;

CREATE OR REPLACE FUNCTION purge_dead(ws uuid, purge_id uuid, dead_id uuid, kept jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform lock_workspaces(array[ws]);
  if kept is not null then
    update dead_submission set job = kept ->> 'job', keys = array(select jsonb_array_elements_text(kept -> 'keys')::uuid)
    where workspace_id = ws and id = dead_id;
    return;
  end if;
  delete from dead_submission where workspace_id = ws and id = dead_id;
  if found then
    update submission set state = 'purged', error = null, finished_at = now() where workspace_id = ws and id = dead_id;
    update purge set dead_submissions = dead_submissions + 1 where workspace_id = ws and id = purge_id;
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION purge_step(ws uuid, purge_id uuid, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  p purge;
  ids uuid[];
  removed int;
begin
  perform lock_workspaces(array[ws]);
  select * into p from purge where workspace_id = ws and id = purge_id;
  if not found then return 0; end if;
  ids := doomed_feedback(ws, p, most);
  if cardinality(ids) > 0 then return remove_feedback(ws, ids); end if;
  with doomed as (
    select s.* from unnest(p.contact_ids) as c (id),
      lateral (
        select ctid as place, id, number, account_given or project_given as stays from superseded_reference
        where workspace_id is not distinct from ws and contact_id = c.id limit most
      ) as s
    limit most
  ),
  gone as (
    delete from superseded_reference as s using doomed as d
    where s.workspace_id is not distinct from ws and s.ctid = d.place and not d.stays
  ),
  kept as (
    update superseded_reference as s set contact_id = null, contact_ref = null, contact_given = false
    from doomed as d
    where s.workspace_id is not distinct from ws and s.ctid = d.place and d.stays
  ),
  forgotten as (
    delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
      select u.ctid from doomed as d,
        lateral (
          select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = d.id and number = d.number offset 0
        ) as u
    ))
  )
  select count(*) into removed from doomed;
  if removed > 0 then return removed; end if;
  ids := doomed_conversations(ws, p, most);
  if cardinality(ids) > 0 then return remove_from_conversations(ws, ids); end if;
  return 0;
end $function$
;

CREATE OR REPLACE FUNCTION raise_fences(fences jsonb)
 RETURNS TABLE(workspace_id uuid, purge_id uuid)
 LANGUAGE plpgsql
AS $function$
declare
  part record;
  doomed uuid[];
  forgotten uuid;
  gone int;
begin
  perform lock_workspaces(array(select distinct (f ->> 'workspaceId')::uuid from jsonb_array_elements(fences) as f));
  for part in
    select (f ->> 'workspaceId')::uuid as ws, (f ->> 'number')::bigint as n,
      array_agg((f ->> 'id')::uuid) as ids, jsonb_agg(f) as items
    from jsonb_array_elements(fences) as f
    where not exists (
      select from fence as held
      where held.workspace_id = (f ->> 'workspaceId')::uuid and held.key_id = (f ->> 'keyId')::uuid
        and held.number = (f ->> 'number')::bigint
    )
    group by 1, 2 order by 2
  loop
    doomed := array(select distinct k.subject_id from identity_key as k where k.workspace_id = part.ws and k.id = any (part.ids));
    forgotten := (
      select (f ->> 'groupId')::uuid from jsonb_array_elements(part.items) as f
      where f ->> 'fromNumber' is null and is_remembered(part.ws, (f ->> 'groupId')::uuid) limit 1
    );
    insert into fence (workspace_id, key_id, number, id, next_id, group_id, source_hash, from_number)
    select part.ws, (f ->> 'keyId')::uuid, part.n, (f ->> 'id')::uuid, (f ->> 'nextId')::uuid, (f ->> 'groupId')::uuid,
      (f ->> 'sourceHash')::uuid, (f ->> 'fromNumber')::bigint
    from jsonb_array_elements(part.items) as f
    on conflict do nothing;
    continue when cardinality(doomed) = 0 and forgotten is null;
    perform end_keys(part.ws, doomed, part.n);
    delete from contact as c where c.workspace_id = part.ws and c.id = any (doomed);
    get diagnostics gone = row_count;
    workspace_id := part.ws;
    purge_id := gen_random_uuid();
    insert into purge (workspace_id, id, number, contact_ids, remembered, keys, contacts)
    values (
      part.ws, purge_id, part.n, doomed, forgotten,
      array(select f ->> 'keyId' from jsonb_array_elements(part.items) as f)::uuid[], gone
    );
    return next;
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION reach(ws uuid, ids uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (
    with recursive step (id) as (
      select unnest(ids)
      union
      select further.id
      from step
      cross join lateral (
        select k.id from identity_key as k where k.workspace_id is not distinct from ws and k.group_id = step.id
        union all
        select k.group_id from identity_key as k where k.workspace_id = ws and k.id = step.id and k.kind = 'contact_bare'
        union all
        select c.target_id from identity_claim as c where c.workspace_id = ws and c.key_id = step.id
        offset 0
      ) as further
    )
    select array_agg(id) from step
  );
end $function$
;

CREATE OR REPLACE FUNCTION reference_at(ws uuid, ref jsonb, n bigint)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
RETURN ((ref || CASE WHEN (ref ? 'weak'::text) THEN jsonb_build_object('weak', id_at(ws, ((ref ->> 'weak'::text))::uuid, n)) ELSE '{}'::jsonb END) || CASE WHEN (ref ? 'preferred'::text) THEN jsonb_build_object('preferred', id_at(ws, ((ref ->> 'preferred'::text))::uuid, n)) ELSE '{}'::jsonb END)
;

CREATE OR REPLACE FUNCTION references_to(ws uuid, slot text, subjects uuid[])
 RETURNS SETOF reference
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if slot = 'contact' then
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and contact_id = s.id offset 0) as r;
  elsif slot = 'account' then
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and account_id = s.id offset 0) as r;
  else
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and project_id = s.id offset 0) as r;
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION regroup(ws uuid, groups uuid[], OUT changed uuid[], OUT appeared uuid[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  insert into identity_key (workspace_id, id, kind, group_id, source, external_id, subject_id)
  select ws, b.home_id, 'contact_external', b.group_id, b.source, b.external_id, b.home_id
  from unnest(groups) as g (id),
    lateral (
      select * from identity_key where workspace_id is not distinct from ws and group_id = g.id and kind = 'contact_bare' offset 0
    ) as b
  where not exists (
    select from identity_key as n
    where n.workspace_id is not distinct from ws and n.group_id = b.group_id and n.kind = 'contact_external' and n.said_from <= b.said_from offset 0
  )
  on conflict do nothing;
  with members as (
    select k.place, k.id, k.group_id, k.kind, k.source, k.said_from, k.exists_from as former_from, k.subject_id as former_subject,
      min(k.said_from) filter (where k.kind <> 'contact_bare') over same_id as named_from,
      min(k.said_from) filter (where k.kind = 'contact_bare') over same_id as bare_from,
      (array_agg(k.home_id) filter (where k.kind = 'contact_bare') over same_id)[1] as home_id,
      bool_or(k.exists_from is not null) over same_id as known
    from unnest(groups) as g (id),
      lateral (select *, ctid as place from identity_key where workspace_id is not distinct from ws and group_id = g.id offset 0) as k
    window same_id as (partition by k.group_id)
  ),
  dated as (
    select *, case
      when kind = 'contact_bare' then said_from
      when id = home_id and (named_from is null or bare_from < named_from) then least(said_from, bare_from)
      else said_from
    end as exists_from
    from members
  ),
  derived as (
    select place, exists_from, former_from, former_subject, known, case
      when kind <> 'contact_bare' then id
      else first_value(id) over (
        partition by group_id order by kind = 'contact_bare', exists_from nulls last, source collate "C"
      )
    end as subject_id
    from dated
  ),
  moved as (
    update identity_key as k set exists_from = d.exists_from, subject_id = d.subject_id
    from derived as d
    where k.workspace_id is not distinct from ws and k.ctid = d.place and (d.former_from, d.former_subject) is distinct from (d.exists_from, d.subject_id)
    returning k.id, k.group_id, d.known
  )
  select coalesce(array_agg(distinct u.id) filter (where m.known), '{}'),
    coalesce(array_agg(distinct u.id) filter (where not m.known), '{}')
  into changed, appeared
  from moved as m, lateral (values (m.id), (m.group_id)) as u (id);
  perform list_external_ids(ws, array(select unnest(groups) intersect select unnest(changed || appeared)));
  -- A weak key that was claimed through a bare id follows it.
  if cardinality(changed) > 0 then
    changed := changed || array(
      select c.key_id from unnest(changed) as t (id),
        lateral (select key_id from identity_claim where workspace_id is not distinct from ws and target_id = t.id and not link offset 0) as c
    );
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION relink(ws uuid, changed uuid[], appeared uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
AS $function$
declare
  touched uuid[] := '{}';
  concerned reference[];
  moved relinked[];
  said record;
  -- Contacts whose purge is under way: what is theirs stays marked as theirs until it is gone.
  ended uuid[] := array(select unnest(contact_ids) from purge where workspace_id = ws);
begin
  while cardinality(changed) > 0 or cardinality(appeared) > 0 loop
    concerned := concerned_references(ws, changed, appeared);
    exit when cardinality(concerned) = 0;
    moved := array(
      select row(
        r.record, r.id, r.number, c, a, p,
        array_remove(array[r.contact_id, r.account_id, r.project_id], null),
        array_remove(array[
          case when c.given and not r.contact_given then given_of(r.contact_ref, r.number) end,
          case when a.given and not r.account_given then given_of(r.account_ref, r.number) end,
          case when p.given and not r.project_given then given_of(r.project_ref, r.number) end], null),
        array_remove(array[
          case when r.contact_given and not c.given then given_of(r.contact_ref, r.number) end,
          case when r.account_given and not a.given then given_of(r.account_ref, r.number) end,
          case when r.project_given and not p.given then given_of(r.project_ref, r.number) end], null)
      )::relinked
      from unnest(concerned) as r,
      resolve_unless_ended(ws, r, ended) as c,
      resolve(ws, 'account', r.account_ref, r.number, r.source) as a,
      resolve(ws, 'project', r.project_ref, r.number, r.source) as p
      where (c.id, c.given, a.id, a.given, p.id, p.given)
        is distinct from (r.contact_id, r.contact_given, r.account_id, r.account_given, r.project_id, r.project_given)
    );
    perform link_anew(ws, moved);
    touched := touched || array(
      select unnest(m.before_ids || array_remove(array[(m.contact).id, (m.account).id, (m.project).id], null))
      from unnest(moved) as m
    );
    said := store_given(ws, array(select g from unnest(moved) as m, unnest(m.now_given) as g));
    changed := said.changed || withdraw_given(ws, array(select g from unnest(moved) as m, unnest(m.no_longer_given) as g));
    appeared := said.appeared;
  end loop;
  return array(select distinct unnest(touched));
end $function$
;

CREATE OR REPLACE FUNCTION remember_unresolved(ws uuid, record uuid, of_number bigint, missed uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from unresolved_reference
  where workspace_id is not distinct from ws and record_id = record and number = of_number and ref_id <> all (missed);
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, m, record, of_number from unnest(missed) as m
  on conflict do nothing;
end $function$
;

CREATE OR REPLACE FUNCTION remove_before(ws uuid, feedback_ids uuid[], conversation_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  doomed uuid[];
begin
  if not exists (select from purge where workspace_id = ws) then return; end if;
  doomed := array(
    select f.id from (select * from feedback where workspace_id = ws and id = any (feedback_ids) offset 0) as f, purge as p
    where p.workspace_id = ws and (
      f.contact_id = any (p.contact_ids)
      or (f.contact_id is null and f.number < p.number and exists (
        select from unresolved_reference as u
        where u.workspace_id = ws and u.ref_id = p.remembered and u.record_id = f.id and u.number = f.number offset 0
      ))
    )
  );
  if cardinality(doomed) > 0 then perform remove_feedback(ws, doomed); end if;
  doomed := array(
    select conversation_id from ended_messages(ws, conversation_ids)
    union
    select c.conversation_id from conversation_contact as c, purge as p
    where c.workspace_id = ws and c.conversation_id = any (conversation_ids)
      and p.workspace_id is not distinct from ws and c.contact_id = any (p.contact_ids)
  );
  if cardinality(doomed) > 0 then perform remove_from_conversations(ws, doomed); end if;
end $function$
;

CREATE OR REPLACE FUNCTION remove_feedback(ws uuid, doomed uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
begin
  perform count_off(ws, array(select unnest(tags) from feedback where workspace_id = ws and id = any (doomed)));
  insert into superseded_reference (
    workspace_id, id, number, source, account_id, project_id, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, id, number, source, account_id, project_id, account_ref, project_ref, false, account_given, project_given
  from feedback where workspace_id = ws and id = any (doomed) and (account_given or project_given)
  on conflict do nothing;
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from feedback as f,
      lateral (
        select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = f.id and number = f.number offset 0
      ) as u
    where f.workspace_id = ws and f.id = any (doomed)
  ));
  with gone as (
    delete from feedback where workspace_id = ws and id = any (doomed) returning id, contact_id, number, source_id
  ),
  by_purge as (
    select g.id, g.source_id is not null as can_have_former, k.id as purge_id, k.number from gone as g
    join purge as k on k.workspace_id = ws and (
      g.contact_id = any (k.contact_ids) or (g.contact_id is null and k.remembered is not null and g.number < k.number)
    )
  ),
  -- A former version of the record may have been nobody's, and be dead until it is replayed: it must not come again all the same.
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id)
    select ws, id, number, id, id from by_purge where can_have_former
    on conflict do nothing
  )
  update purge as p set feedback = p.feedback + of_it.records
  from (select purge_id, count(*) as records from by_purge group by purge_id) as of_it
  where p.workspace_id = ws and p.id = of_it.purge_id;
  return cardinality(doomed);
end $function$
;

CREATE OR REPLACE FUNCTION remove_from_conversations(ws uuid, touched uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  empty uuid[];
  shortened uuid[];
begin
  with gone as (
    delete from message as k using ended_messages(ws, touched) as m
    where k.workspace_id is not distinct from ws and k.ctid = m.place
    returning m.id, m.conversation_id, m.purge_id
  ),
  -- As with feedback: a former version may have been nobody's, or somebody else's.
  fenced as (
    insert into fence (workspace_id, key_id, number, id, next_id)
    select ws, g.id, p.number, g.id, g.id from gone as g join purge as p on p.workspace_id = ws and p.id = g.purge_id
    on conflict do nothing
  ),
  forgotten as (
    delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
      select u.ctid from gone as g,
        lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = g.id offset 0) as u
    ))
  ),
  counted as (
    update purge as p set messages = p.messages + of_it.records
    from (select purge_id, count(*) as records from gone group by purge_id) as of_it
    where p.workspace_id = ws and p.id = of_it.purge_id
  )
  select coalesce(array_agg(distinct conversation_id), '{}') into shortened from gone;
  -- Tags that were made from what is gone go as well; the conversation gets others from what is left.
  perform count_off(ws, array(select unnest(tags) from conversation where workspace_id = ws and id = any (shortened)));
  update conversation set tags = null, purged_number = (select max(number) from purge where workspace_id = ws)
  where workspace_id = ws and id = any (shortened);
  delete from conversation_contact
  where workspace_id = ws and conversation_id = any (touched)
    and contact_id in (select unnest(contact_ids) from purge where workspace_id = ws);
  update conversation as c set contact_keys = array(
    select key_id from unnest(c.contact_keys) as key_id
    where exists (select from identity_key as k where k.workspace_id = ws and k.id = key_id offset 0)
  )
  where c.workspace_id = ws and c.id = any (touched);
  empty := array(
    select c.id from unnest(touched) as c (id)
    where not exists (select from conversation_contact where workspace_id = ws and conversation_id = c.id offset 0)
      and not exists (select from message where workspace_id is not distinct from ws and conversation_id = c.id and contact_id is not null offset 0)
  );
  perform count_off(ws, array(select unnest(tags) from conversation where workspace_id = ws and id = any (empty)));
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from unnest(empty) as c (id),
      lateral (select id from message where workspace_id is not distinct from ws and conversation_id = c.id offset 0) as m,
      lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id offset 0) as u
  ));
  delete from message where workspace_id is not distinct from ws and ctid = any (array(
    select m.ctid from unnest(empty) as c (id),
      lateral (select ctid from message where workspace_id is not distinct from ws and conversation_id = c.id offset 0) as m
  ));
  insert into fence (workspace_id, key_id, number, id, next_id)
  select ws, c.id, max(p.number), c.id, c.id from unnest(empty) as c (id), purge as p where p.workspace_id = ws group by c.id
  on conflict do nothing;
  delete from conversation where workspace_id = ws and id = any (empty);
  return cardinality(touched);
end $function$
;

CREATE OR REPLACE FUNCTION replay_dead(ws uuid, dead_id uuid, OUT outcome text, OUT dead_job text)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  d record;
begin
  perform lock_workspaces(array[ws]);
  select dead.job, dead.keys, s.acceptance_number, s.operation into d
  from dead_submission as dead join submission as s on s.workspace_id = ws and s.id = dead.id
  where dead.workspace_id = ws and dead.id = dead_id;
  if not found then
    outcome := 'unknown';
  elsif exists (
    select from purge as p
    where p.workspace_id = ws and p.id <> dead_id and p.number > d.acceptance_number and (p.keys || p.contact_ids) && d.keys
  ) then
    outcome := 'being-purged';
  elsif d.operation = 'purge_contact' and not exists (select from purge as p where p.workspace_id = ws and p.id = dead_id) then
    outcome := 'undecided-purge';
  else
    update dead_submission set replayed_at = now() where workspace_id = ws and id = dead_id;
    update submission set state = 'queued', error = null, finished_at = null
    where workspace_id = ws and id = dead_id and state = 'dead';
    outcome := 'queued';
    dead_job := d.job;
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION resolve(ws uuid, slot text, ref jsonb, n bigint, own_source text)
 RETURNS resolution
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  result resolution := row(null, false, '{}');
  ref_id uuid;
begin
  if ref is null then return result; end if;
  if ref ? 'preferred' then
    result.id := (select subject_id from identity_key where workspace_id = ws and id = (ref ->> 'preferred')::uuid);
    return result;
  end if;
  if ref ? 'ids' then
    for ref_id in select value::uuid from jsonb_array_elements_text(ref -> 'ids') loop
      if (ref -> 'own')::boolean then
        result.id := resolve_own(ws, slot, ref_id, n);
      else
        result.id := resolve_external(ws, ref_id, n, own_source);
      end if;
      if result.id is not null then return result; end if;
      result.missed := result.missed || ref_id;
    end loop;
  end if;
  if ref ? 'weak' then
    result.id := resolve_weak(ws, (ref ->> 'weak')::uuid, n);
    result.given := true;
  elsif not (ref -> 'own')::boolean then
    result.id := resolve_late(ws, ref_id, n);
  end if;
  return result;
end $function$
;

CREATE OR REPLACE FUNCTION resolve_external(ws uuid, external_group uuid, n bigint, own_source text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
RETURN (SELECT identity_key.subject_id FROM identity_key WHERE ((NOT (identity_key.workspace_id IS DISTINCT FROM resolve_external.ws)) AND (identity_key.group_id = resolve_external.external_group) AND (identity_key.kind <> 'contact_bare'::text) AND (identity_key.exists_from < resolve_external.n)) ORDER BY (identity_key.source IS DISTINCT FROM resolve_external.own_source), identity_key.exists_from, (identity_key.source COLLATE "C") LIMIT 1)
;

CREATE OR REPLACE FUNCTION resolve_feedback(ws uuid, incoming said_feedback[], OUT answers answered_feedback[], OUT has_doubles boolean, OUT contacts contact[], OUT accounts account[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(incoming));
begin
  select
    array_agg(
      row(
        r.wins, r.replaces, (r.contact).id, (r.account).id, (r.project).id,
        (r.contact).given, (r.account).given, (r.project).given,
        (r.contact).missed || (r.account).missed || (r.project).missed
      )::answered_feedback
      order by r.ordinality
    ),
    coalesce(bool_or(r.replaces or not r.wins), false),
    array_agg(
      row(ws, (r.contact).id, null, null, null, null, null, null, null, null, null, r.contact_ref -> 'given', null, r.number, null)::contact
    ) filter (where (r.contact).given),
    array_agg(
      row(ws, (r.account).id, null, null, null, null, null, null, null, null, r.account_ref -> 'given', r.number, null)::account
    ) filter (where (r.account).given)
  into answers, has_doubles, contacts, accounts
  from (
    select f.ordinality, f.number, f.contact_ref, f.account_ref,
      f.number > coalesce(held.number, 0)
        and (not has_repeats or not exists (select from unnest(incoming) as o where o.id = f.id and o.number > f.number)) as wins,
      held.number is not null as replaces,
      case
        when f.contact_ref is null then row(null, false, '{}')::resolution
        when not f.contact_ref ? 'ids' and not exists (
          select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.contact_ref ->> 'weak')::uuid offset 0
        ) then row((f.contact_ref ->> 'weak')::uuid, true, '{}')::resolution
        else resolve(ws, 'contact', f.contact_ref, f.number, f.source)
      end as contact,
      case
        when f.account_ref is null then row(null, false, '{}')::resolution
        when not f.account_ref ? 'ids' and not exists (
          select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.account_ref ->> 'weak')::uuid offset 0
        ) then row((f.account_ref ->> 'weak')::uuid, true, '{}')::resolution
        else resolve(ws, 'account', f.account_ref, f.number, f.source)
      end as account,
      case
        when f.project_ref is null then row(null, false, '{}')::resolution
        when not f.project_ref ? 'ids' then row((f.project_ref ->> 'weak')::uuid, true, '{}')::resolution
        else resolve(ws, 'project', f.project_ref, f.number, f.source)
      end as project
    from unnest(incoming) with ordinality as f
    left join lateral (select k.number from feedback as k where k.workspace_id = ws and k.id = f.id offset 0) as held on true
    offset 0
  ) as r;
end $function$
;

CREATE OR REPLACE FUNCTION resolve_late(ws uuid, external_group uuid, n bigint)
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
RETURN (SELECT k.subject_id FROM identity_key k WHERE ((NOT (k.workspace_id IS DISTINCT FROM resolve_late.ws)) AND (k.group_id = resolve_late.external_group) AND (k.kind <> 'contact_bare'::text) AND (k.exists_from >= resolve_late.n) AND (NOT (EXISTS (SELECT FROM fence f WHERE ((NOT (f.workspace_id IS DISTINCT FROM resolve_late.ws)) AND (f.group_id = resolve_late.external_group) AND (f.number >= resolve_late.n) AND (f.number < k.exists_from)) OFFSET 0)))) ORDER BY k.exists_from, (k.source COLLATE "C") LIMIT 1)
;

CREATE OR REPLACE FUNCTION resolve_own(ws uuid, slot text, own uuid, n bigint)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  key identity_key;
  first_claim identity_claim;
begin
  select * into key from identity_key where workspace_id = ws and id = own;
  if not found or key.exists_from is null or key.exists_from >= n
     or key.orphaned or key.kind = 'contact_bare' or not starts_with(key.kind, slot) then
    return null;
  end if;
  select * into first_claim from identity_claim where workspace_id = ws and key_id = own and decides order by number limit 1;
  if not found then return own; end if;
  return claimed_subject(ws, first_claim, first_claim.number);
end $function$
;

CREATE OR REPLACE FUNCTION resolve_unless_ended(ws uuid, r reference, ended uuid[])
 RETURNS resolution
 LANGUAGE sql
 STABLE
RETURN CASE WHEN ((r).contact_id = ANY (ended)) THEN ROW((r).contact_id, (r).contact_given, '{}'::uuid[])::resolution ELSE resolve(ws, 'contact'::text, (r).contact_ref, (r).number, (r).source) END
;

CREATE OR REPLACE FUNCTION resolve_weak(ws uuid, weak uuid, n bigint)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  decisive identity_claim := claim_at(ws, weak, n);
begin
  if decisive.key_id is null then return weak; end if;
  return claimed_subject(ws, decisive, n);
end $function$
;

CREATE OR REPLACE FUNCTION restore_links(ws uuid, names uuid[], reached uuid[])
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, name_key, number, weak, true
  from (
    select g.name_key, g.number, g.weak, lag(g.weak) over (partition by g.name_key order by g.number) as former
    from references_to(ws, 'account', reached) as r, lateral (select * from given_of(r.account_ref, r.number) offset 0) as g
    where r.account_given and g.name_key = any (names)
  ) as links
  where former is distinct from weak
  on conflict do nothing
$function$
;

CREATE OR REPLACE FUNCTION set_aside(ws uuid, dead_submission jsonb, dead_job text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  d record;
begin
  perform lock_workspaces(array[ws]);
  select * into d from jsonb_to_record(dead_submission)
    as r (id uuid, number bigint, operation text, attempts int, reason text, keys uuid[]);
  insert into submission as s (workspace_id, id, acceptance_number, operation, state, attempts, finished_at, error)
  values (ws, d.id, d.number, d.operation, 'dead', d.attempts, now(), d.reason)
  on conflict (workspace_id, id) do update
  set state = excluded.state, attempts = excluded.attempts, finished_at = excluded.finished_at, error = excluded.error
  where s.state = 'queued';
  -- A submission that was stored after all, by another delivery, is not dead.
  if exists (select from submission where workspace_id = ws and id = d.id and state = 'dead') then
    insert into dead_submission (workspace_id, id, reason, job, keys) values (ws, d.id, d.reason, dead_job, d.keys)
    on conflict (workspace_id, id) do update set reason = excluded.reason, died_at = excluded.died_at, replayed_at = null;
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION settle_purge(ws uuid, purge_id uuid, with_attempts integer, hashes jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  removed jsonb;
begin
  perform lock_workspaces(array[ws]);
  with done as (
    delete from purge where workspace_id = ws and id = purge_id returning *
  )
  insert into submission as s (
    workspace_id, id, acceptance_number, operation, state, attempts, finished_at, counts, identifiers)
  select ws, purge_id, number, 'purge_contact', 'applied', with_attempts, now(),
    jsonb_build_object(
      'contacts', contacts, 'feedback', feedback, 'messages', messages, 'conversations', conversations,
      'deadSubmissions', dead_submissions),
    hashes
  from done
  on conflict (workspace_id, id) do update
  set state = 'applied', attempts = excluded.attempts, finished_at = excluded.finished_at, error = null,
    counts = excluded.counts, identifiers = excluded.identifiers;
  select counts into removed from submission where workspace_id = ws and id = purge_id;
  return removed;
end $function$
;

CREATE OR REPLACE FUNCTION shares_of(ws uuid, records uuid[])
 RETURNS SETOF tag_share
 LANGUAGE sql
 STABLE
AS $function$
  select s.* from unnest(records) as r (id),
    lateral (select * from tag_share where workspace_id = ws and record_id = r.id offset 0) as s
$function$
;

CREATE OR REPLACE FUNCTION store(batch jsonb)
 RETURNS SETOF submission
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  ws uuid;
  part jsonb;
begin
  perform lock_workspaces(array(select key::uuid from jsonb_each(batch)));
  for ws, part in
    select b.key::uuid, p.value from jsonb_each(batch) as b, jsonb_array_elements(b.value) with ordinality as p (value, place)
    order by b.key, p.place
  loop
    if part ? 'purge' then
      perform decide_purge(ws, jsonb_populate_record(null::wanted_purge, part -> 'purge'));
    else
      return query select * from store_part(ws, part);
    end if;
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION store_claims(ws uuid, claims said_claim[], OUT changed uuid[], OUT appeared uuid[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(claims) = 0 then return; end if;
  with said as materialized (
    select c.*, known.place, known.exists_from
    from unnest(claims) as c
    left join lateral (
      select ctid as place, exists_from from identity_key where workspace_id = ws and id = c.key_id offset 0
    ) as known on true
  ),
  altered as (
    select distinct c.key_id
    from said as c
    left join lateral (
      select target_id from identity_claim
      where workspace_id = ws and key_id = c.key_id and not link and decides and number <= c.number order by number desc limit 1
    ) as last_claim on true
    cross join lateral (
      select case when last_claim.target_id is null then claim_at(ws, c.key_id, c.number) end as claim offset 0
    ) as before
    where c.decides and c.place is not null and case
      when last_claim.target_id is not null then not c.link and last_claim.target_id <> c.target_id
      else (before.claim).key_id is null or (before.claim).target_id <> c.target_id or (before.claim).link <> c.link
        or ((before.claim).number > c.number and c.link)
    end
  ),
  kept as (
    insert into identity_claim (workspace_id, key_id, number, target_id, link, decides)
    select ws, c.key_id, c.number, c.target_id, c.link, c.decides from said as c
    where c.place is null or not exists (
      select from identity_claim as i
      where i.workspace_id = ws and i.key_id = c.key_id and i.number = c.number and i.target_id = c.target_id offset 0
    )
  ),
  earliest as materialized (
    select key_id, kind, place, min(number) as number from said where exists_from is null or exists_from > number
    group by key_id, kind, place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, exists_from, subject_id)
    select ws, key_id, kind, number, key_id from earliest where place is null
  ),
  moved as (
    update identity_key as k set exists_from = least(k.exists_from, e.number) from earliest as e
    where e.place is not null and k.workspace_id is not distinct from ws and k.ctid = e.place
  )
  select array(select key_id from altered), array(select key_id from earliest) into changed, appeared;
  -- A name that was linked to a domain follows it.
  if cardinality(changed) > 0 then
    changed := changed || array(
      select c.key_id from unnest(changed) as t (id),
        lateral (select key_id from identity_claim where workspace_id is not distinct from ws and target_id = t.id and link offset 0) as c
    );
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION store_conversations(ws uuid, incoming conversation[], incoming_messages message[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  touched uuid[] := array(select distinct id from unnest(incoming));
  known uuid[] := array(
    select c.id from unnest(touched) as c (id),
      lateral (select from conversation where workspace_id = ws and id = c.id offset 0) as held
  );
begin
  insert into conversation as k (
    workspace_id, id, external_id, source, title, rating, properties, created_at, updated_at, number, contact_keys)
  select distinct on (c.id)
    ws, c.id, c.external_id, c.source, c.title, c.rating, c.properties, c.created_at, c.updated_at, c.number,
    array(select distinct key from unnest(c.contact_keys) as key order by key)
  from unnest(incoming) as c order by c.id, c.number desc
  on conflict (workspace_id, id) do update set
    title = excluded.title, rating = excluded.rating, properties = excluded.properties,
    created_at = excluded.created_at, updated_at = excluded.updated_at, number = excluded.number
  where excluded.number > k.number;
  if cardinality(known) > 0 or cardinality(touched) < cardinality(incoming) then
    update conversation as k set contact_keys = more.keys
    from (
      select held.place, held.contact_keys as former, array(
        select key from unnest(held.contact_keys) as key
        union
        select key from unnest(incoming) as i, unnest(i.contact_keys) as key where i.id = c.id
        order by 1
      ) as keys
      from unnest(touched) as c (id),
        lateral (select ctid as place, contact_keys from conversation where workspace_id = ws and id = c.id offset 0) as held
    ) as more
    where k.workspace_id is not distinct from ws and k.ctid = more.place and more.former <> more.keys;
    perform derive_conversation_contacts(ws, known);
  end if;
  insert into conversation_contact (workspace_id, conversation_id, contact_id)
  select distinct ws, c.id, k.subject_id
  from unnest(incoming) as c, unnest(c.contact_keys) as key (id),
    lateral (select subject_id from identity_key where workspace_id = ws and id = key.id offset 0) as k
  where c.id <> all (known);
  perform store_messages(ws, incoming_messages);
end $function$
;

CREATE OR REPLACE FUNCTION store_feedback(ws uuid, incoming feedback[], OUT changed uuid[], OUT appeared uuid[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  said record;
  answers answered_feedback[];
  has_doubles boolean;
begin
  said := store_given(ws, array(
    select given_of(s.ref, f.number)
    from unnest(incoming) as f,
      lateral (values ('contact', f.contact_ref), ('account', f.account_ref), ('project', f.project_ref)) as s (slot, ref)
    where s.ref ? 'weak' and (not s.ref ? 'ids' or (resolve(ws, s.slot, s.ref, f.number, f.source)).given)
  ));
  changed := said.changed;
  appeared := said.appeared;
  answers := answer_feedback(ws, incoming);
  has_doubles := exists (select from unnest(answers) as a where a.replaces or not a.wins);
  if has_doubles then
    perform keep_superseded(ws, incoming, answers);
  end if;

  perform count_tags(ws, jsonb_object_agg(t.title, t.uses))
  from (
    select g.title, count(*) as uses
    from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.tags) as g (title) where f.wins group by g.title
  ) as t
  having count(*) > 0;
  insert into feedback as k (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
    number, first_number, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, f.id, f.description, f.title, f.is_transcript, f.tags, f.tags is null, f.rating, f.source, f.source_id, f.source_data,
    f.number, f.number, f.contact, f.account, f.project,
    f.contact_ref, f.account_ref, f.project_ref, f.by_contact, f.by_account, f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f where f.wins
  on conflict (workspace_id, id) do update set
    description = excluded.description, title = excluded.title, is_transcript = excluded.is_transcript,
    tags = excluded.tags, tags_generated = excluded.tags_generated, rating = excluded.rating,
    source = excluded.source, source_id = excluded.source_id, source_data = excluded.source_data,
    number = excluded.number, first_number = least(k.first_number, excluded.first_number),
    contact_id = excluded.contact_id, account_id = excluded.account_id, project_id = excluded.project_id,
    contact_ref = excluded.contact_ref, account_ref = excluded.account_ref, project_ref = excluded.project_ref,
    contact_given = excluded.contact_given, account_given = excluded.account_given, project_given = excluded.project_given;
  if has_doubles then
    update feedback as k set first_number = r.number
    from (select id, min(number) as number from unnest(incoming) group by id) as r,
      lateral (select ctid as place from feedback where workspace_id = ws and id = r.id and first_number > r.number offset 0) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place;
  end if;

  -- Only added here: what a redelivered record remembers is for relink to clear, when it has linked it.
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, u.ref_id, f.id, f.number
  from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.missed) as u (ref_id)
  where cardinality(f.missed) > 0
    and exists (select from reference as k where k.workspace_id = ws and k.id = f.id and k.number = f.number offset 0)
  on conflict do nothing;

  perform add_to_contacts(ws, array(
    select row(ws, f.contact, null, null, null, null, null, null, null, null, null,
      f.contact_ref -> 'given', null, f.number, null)::contact
    from rows from (unnest(incoming), unnest(answers)) as f where f.by_contact
  ));
  perform add_to_accounts(ws, array(
    select row(ws, f.account, null, null, null, null, null, null, null, null, f.account_ref -> 'given', f.number, null)::account
    from rows from (unnest(incoming), unnest(answers)) as f where f.by_account
  ));
  insert into project as k (workspace_id, id, name, first_number)
  select ws, f.project, min(f.project_ref -> 'given' ->> 'name'), min(f.number)
  from rows from (unnest(incoming), unnest(answers)) as f
  where f.by_project and not exists (
    select from project as known where known.workspace_id = ws and known.id = f.project and known.first_number <= f.number offset 0
  )
  group by f.project order by f.project
  on conflict (workspace_id, id) do update set first_number = excluded.first_number
  where k.first_number > excluded.first_number;

  -- Above, what was given counted wherever no id meant anybody. Meanwhile one may: of something given in this very batch.
  changed := changed || withdraw_given(ws, array(
    select given_of(s.ref, f.number)
    from rows from (unnest(incoming), unnest(answers)) as f,
      lateral (values
        (f.contact_ref, f.by_contact), (f.account_ref, f.by_account), (f.project_ref, f.by_project)
      ) as s (ref, given)
    where s.ref ? 'ids' and s.ref ? 'weak' and not s.given
  ));
end $function$
;

CREATE OR REPLACE FUNCTION store_feedback(ws uuid, incoming said_feedback[], OUT changed uuid[], OUT appeared uuid[], OUT superseded bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  said record;
  resolved record;
  answers answered_feedback[];
  given given_reference[];
  has_ids boolean;
  has_projects boolean;
begin
  superseded := '{}';
  select
    array_agg(given_of(f.contact_ref, f.number)) filter (
      where coalesce(f.contact_ref ? 'weak', false)
        and (not f.contact_ref ? 'ids' or (resolve(ws, 'contact', f.contact_ref, f.number, f.source)).given)
    )
    || array_agg(given_of(f.account_ref, f.number)) filter (
      where coalesce(f.account_ref ? 'weak', false)
        and (not f.account_ref ? 'ids' or (resolve(ws, 'account', f.account_ref, f.number, f.source)).given)
    )
    || array_agg(given_of(f.project_ref, f.number)) filter (
      where coalesce(f.project_ref ? 'weak', false)
        and (not f.project_ref ? 'ids' or (resolve(ws, 'project', f.project_ref, f.number, f.source)).given)
    ),
    bool_or(f.contact_ref ? 'ids' or f.account_ref ? 'ids' or f.project_ref ? 'ids'),
    bool_or(f.project_ref is not null)
  into given, has_ids, has_projects
  from unnest(incoming) as f;
  said := store_given(ws, coalesce(given, '{}'));
  changed := said.changed;
  appeared := said.appeared;
  resolved := resolve_feedback(ws, incoming);
  answers := resolved.answers;
  if resolved.has_doubles then
    perform keep_superseded(
      ws,
      array(
        select row(
          ws, f.id, f.description, f.title, f.is_transcript, f.tags, null, f.rating, f.source, f.source_id, f.source_data,
          null, null, null, null, null, f.number, null, f.contact_ref, f.account_ref, f.project_ref, null, null, null, null
        )::feedback
        from unnest(incoming) as f
      ),
      answers
    );
  end if;

  perform count_tags(ws, jsonb_object_agg(t.title, t.uses))
  from (
    select g.title, count(*) as uses
    from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.tags) as g (title) where f.wins group by g.title
  ) as t
  having count(*) > 0;
  insert into feedback (
    workspace_id, id, description, title, is_transcript, tags, tags_generated, rating, source, source_id, source_data,
    number, first_number, contact_id, account_id, project_id,
    contact_ref, account_ref, project_ref, contact_given, account_given, project_given)
  select ws, f.id, f.description, f.title, f.is_transcript, f.tags, f.tags is null, f.rating, f.source, f.source_id, f.source_data,
    f.number, f.number, f.contact, f.account, f.project,
    f.contact_ref, f.account_ref, f.project_ref, f.by_contact, f.by_account, f.by_project
  from rows from (unnest(incoming), unnest(answers)) as f where f.wins and not f.replaces;
  if resolved.has_doubles then
    update feedback as k set
      description = f.description, title = f.title, is_transcript = f.is_transcript, tags = f.tags,
      tags_generated = f.tags is null, rating = f.rating, source = f.source, source_id = f.source_id,
      source_data = f.source_data, number = f.number, contact_id = f.contact, account_id = f.account, project_id = f.project,
      contact_ref = f.contact_ref, account_ref = f.account_ref, project_ref = f.project_ref,
      contact_given = f.by_contact, account_given = f.by_account, project_given = f.by_project
    from rows from (unnest(incoming), unnest(answers)) as f,
      lateral (select ctid as place from feedback where workspace_id = ws and id = f.id offset 0) as held
    where f.wins and f.replaces and k.workspace_id is not distinct from ws and k.ctid = held.place;
    update feedback as k set first_number = r.number
    from (select id, min(number) as number from unnest(incoming) group by id) as r,
      lateral (select ctid as place from feedback where workspace_id = ws and id = r.id and first_number > r.number offset 0) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place;
    superseded := array(
      select f.number
      from rows from (unnest(incoming), unnest(answers)) as f,
        lateral (select number from feedback where workspace_id = ws and id = f.id offset 0) as held
      where not f.wins and held.number > f.number
    );
  end if;

  if has_ids then
    -- Only added here: what a redelivered record remembers is for relink to clear, when it has linked it.
    insert into unresolved_reference (workspace_id, ref_id, record_id, number)
    select ws, u.ref_id, f.id, f.number
    from rows from (unnest(incoming), unnest(answers)) as f, unnest(f.missed) as u (ref_id)
    where cardinality(f.missed) > 0
      and exists (select from reference as k where k.workspace_id = ws and k.id = f.id and k.number = f.number offset 0)
    on conflict do nothing;
  end if;

  perform add_to_contacts(ws, coalesce(resolved.contacts, '{}'));
  perform add_to_accounts(ws, coalesce(resolved.accounts, '{}'));
  if has_projects then
    insert into project as k (workspace_id, id, name, first_number)
    select ws, f.project, min(f.project_ref -> 'given' ->> 'name'), min(f.number)
    from rows from (unnest(incoming), unnest(answers)) as f
    where f.by_project and not exists (
      select from project as known where known.workspace_id = ws and known.id = f.project and known.first_number <= f.number offset 0
    )
    group by f.project order by f.project
    on conflict (workspace_id, id) do update set first_number = excluded.first_number
    where k.first_number > excluded.first_number;
  end if;

  if has_ids then
    -- Above, what was given counted wherever no id meant anybody. Meanwhile one may: of something given in this very batch.
    changed := changed || withdraw_given(ws, array(
      select given_of(s.ref, f.number)
      from rows from (unnest(incoming), unnest(answers)) as f,
        lateral (values
          (f.contact_ref, f.by_contact), (f.account_ref, f.by_account), (f.project_ref, f.by_project)
        ) as s (ref, given)
      where s.ref ? 'ids' and s.ref ? 'weak' and not s.given
    ));
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION store_given(ws uuid, given given_reference[], OUT changed uuid[], OUT appeared uuid[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  linked record;
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(given) = 0 then return; end if;
  with earliest as materialized (
    select g.weak, g.kind, known.place, min(g.number) as number from unnest(given) as g
    left join lateral (
      select ctid as place, said_from from identity_key where workspace_id = ws and id = g.weak offset 0
    ) as known on true
    where known.said_from is null or known.said_from > g.number
    group by g.weak, g.kind, known.place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, said_from, exists_from, subject_id)
    select ws, weak, kind, number, number, weak from earliest where place is null
  ),
  moved as (
    update identity_key as k set said_from = least(k.said_from, e.number), exists_from = least(k.exists_from, e.number)
    from earliest as e
    where e.place is not null and k.workspace_id is not distinct from ws and k.ctid = e.place
  )
  select coalesce(array_agg(weak), '{}') into appeared from earliest;
  linked := store_links(ws, given);
  changed := linked.changed;
  appeared := appeared || linked.appeared;
end $function$
;

CREATE OR REPLACE FUNCTION store_identities(ws uuid, keys identity_key[], claims said_claim[])
 RETURNS TABLE(changed uuid[], appeared uuid[], touched uuid[])
 LANGUAGE plpgsql
AS $function$
declare
  stored record;
  regrouped record;
  claimed record;
begin
  keys := sum_keys(keys);
  stored := store_keys(ws, keys);
  changed := '{}';
  appeared := stored.appeared;
  if cardinality(stored.anew) > 0 then
    regrouped := regroup(ws, stored.anew);
    changed := regrouped.changed;
    appeared := appeared || regrouped.appeared;
  end if;
  claimed := store_claims(ws, claims);
  changed := changed || claimed.changed;
  appeared := appeared || claimed.appeared;
  touched := '{}';
  if cardinality(changed) > 0 then
    -- A bare id that moved takes along what was said about it, so both contacts are gathered anew.
    touched := array(
      select k.id from unnest(changed) as c (id),
        lateral (
          select group_id from identity_key where workspace_id = ws and id = c.id and kind = 'contact_bare' offset 0
        ) as b,
        lateral (
          select id from identity_key where workspace_id is not distinct from ws and group_id = b.group_id and kind = 'contact_external' offset 0
        ) as k
    );
    perform derive_conversation_contacts(ws, array(
      select distinct c.conversation_id from unnest(touched) as t (id),
        lateral (select conversation_id from conversation_contact where workspace_id is not distinct from ws and contact_id = t.id offset 0) as c
    ));
  end if;
  if cardinality(stored.others) > 0 then
    perform add_to_contacts(ws, array(
      select row(ws, k.subject_id, null, null, null, n.account_id, null, null, null, null, null,
        n.facts, n.account_number, n.said_from, n.last_number)::contact
      from unnest(stored.others) as n,
        lateral (select subject_id from identity_key where workspace_id = ws and id = n.id offset 0) as k
      where n.kind in ('contact_external', 'contact_bare')
    ));
    perform add_to_accounts(ws, array(
      select row(ws, n.id, null, null, null, null, null, null, null, null, n.facts, n.said_from, n.last_number)::account
      from unnest(stored.others) as n where n.kind = 'account_external'
    ));
  end if;
  return next;
end $function$
;

CREATE OR REPLACE FUNCTION store_keys(ws uuid, keys identity_key[], OUT anew uuid[], OUT appeared uuid[], OUT others identity_key[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  shared uuid[] := array(select group_id from unnest(keys) group by group_id having count(*) > 1);
begin
  with said as materialized (
    select n.*, n as key, known.place, known.said_from as former_from,
      known.place is null and n.kind <> 'contact_bare' and n.group_id <> all (shared) and (n.group_id = n.id or not exists (
        select from identity_key as k where k.workspace_id is not distinct from ws and k.group_id = n.group_id offset 0
      )) as is_first
    from unnest(keys) as n
    left join lateral (
      select ctid as place, said_from from identity_key where workspace_id = ws and id = n.id offset 0
    ) as known on true
  ),
  added as (
    insert into identity_key (
      workspace_id, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
      account_id, account_number, exists_from, subject_id)
    select ws, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
      account_id, account_number, case when is_first then said_from end, id
    from said where place is null
  ),
  contact_listed as (
    insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id)
    select ws, id, source, external_id, id from said where is_first and kind = 'contact_external'
  ),
  account_listed as (
    insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
    select ws, id, source, external_id, id from said where is_first and kind = 'account_external'
  ),
  contact_added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, said_from, last_number from said where is_first and kind = 'contact_external'
  ),
  account_added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, said_from, last_number from said where is_first and kind = 'account_external'
  ),
  moved as (
    update identity_key as k set
      facts = merge_facts(k.facts, n.facts),
      home_id = case when n.said_from < k.said_from then n.home_id else k.home_id end,
      source = case when n.said_from < k.said_from then n.source else k.source end,
      said_from = least(k.said_from, n.said_from),
      last_number = greatest(k.last_number, n.last_number),
      account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
      account_number = greatest(k.account_number, n.account_number)
    from said as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place
  )
  select
    array(
      select distinct group_id from said
      where not is_first and (place is null or former_from is null or said_from < former_from)
    ),
    array(select u.id from said as n, lateral (values (n.id), (n.group_id)) as u (id) where n.is_first),
    array(select key from said where not is_first)
  into anew, appeared, others;
end $function$
;

CREATE OR REPLACE FUNCTION store_links(ws uuid, given given_reference[], OUT changed uuid[], OUT appeared uuid[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  links said_claim[];
  parted said_claim[];
  stored record;
begin
  changed := '{}';
  appeared := '{}';
  with named as (
    select g.name_key, g.number, g.weak, lag(g.weak) over of_name as former, lag(g.number) over of_name as former_number
    from unnest(given) as g where g.name_key is not null
    window of_name as (partition by g.name_key order by g.number)
  )
  select array_agg(n.claim), array_agg(n.claim) filter (where n.leads_away) into links, parted
  from (
    select row(g.name_key, 'account_name', g.number, g.weak, true, true)::said_claim as claim,
      held.target_id is distinct from g.weak and held.target_id is not null as leads_away
    from named as g
    left join lateral (
      select number, target_id, link from identity_claim
      where workspace_id = ws and key_id = g.name_key and decides and number <= g.number order by number desc limit 1
    ) as held on true
    where case
      when held.number is null or g.former_number > held.number then g.former is distinct from g.weak
      else held.link and held.target_id <> g.weak
    end
  ) as n;
  if links is null then return; end if;
  stored := store_claims(ws, links);
  changed := stored.changed;
  appeared := stored.appeared;
  if parted is null then return; end if;
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, l.key_id, later.number, later.weak, true
  from unnest(parted) as l,
    lateral (
      select g.number, g.weak
      from references_to(ws, 'account', reach(ws, array[l.key_id])) as r,
        lateral (select * from given_of(r.account_ref, r.number) offset 0) as g
      where r.account_given and g.name_key = l.key_id and g.number > l.number
      order by g.number limit 1
    ) as later
  on conflict do nothing;
end $function$
;

CREATE OR REPLACE FUNCTION store_messages(ws uuid, said message[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  has_repeats boolean := (select count(distinct id) < count(*) from unnest(said));
  latest message[];
  replaced uuid[];
  has_others boolean;
  subject_of jsonb := (
    select jsonb_object_agg(p.key, k.subject_id)
    from (select distinct contact_ref ->> 'preferred' as key from unnest(said) where contact_ref ? 'preferred') as p,
      lateral (select subject_id from identity_key where workspace_id = ws and id = p.key::uuid offset 0) as k
  );
  senders resolution[];
begin
  if not has_repeats and not exists (
    select from (select distinct conversation_id as id from unnest(said)) as c,
      lateral (
        select from message where workspace_id is not distinct from ws and conversation_id = c.id limit 1 offset 0
      ) as held
  ) then
    latest := said;
    replaced := '{}';
    has_others := exists (select from unnest(said) as m where m.contact_ref is not null and not m.contact_ref ? 'preferred');
  else
    select array_agg(m), coalesce(array_agg(m.id) filter (where held.number is not null), '{}'),
      bool_or(m.contact_ref is not null and not m.contact_ref ? 'preferred')
    into latest, replaced, has_others
    from unnest(said) as m
    left join lateral (select number from message where workspace_id = ws and id = m.id offset 0) as held on true
    where m.number > coalesce(held.number, 0)
      and (not has_repeats or not exists (select from unnest(said) as o where o.id = m.id and o.number > m.number));
  end if;
  senders := array(
    select case
      when m.contact_ref is null then row(null, false, '{}')::resolution
      when m.contact_ref ? 'preferred' then row((subject_of ->> (m.contact_ref ->> 'preferred'))::uuid, false, '{}')::resolution
      else resolve(ws, 'contact', m.contact_ref, m.number + 1, m.source)
    end
    from unnest(latest) as m
  );
  if cardinality(replaced) > 0 then
    delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
      select u.ctid from unnest(replaced) as m (id),
        lateral (select ctid from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id offset 0) as u
    ));
    update message as k set
      incoming = m.incoming, contact_id = m.sender, content = m.content, source_url = m.source_url, raw_data = m.raw_data,
      created_at = m.created_at, number = m.number, contact_ref = m.contact_ref
    from rows from (unnest(latest), unnest(senders)) as m (
        workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
        number, source, contact_ref, sender, given, missed),
      lateral (select ctid as place from message where workspace_id = ws and id = m.id offset 0) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place;
  end if;
  insert into message (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
    number, source, contact_ref)
  select ws, m.id, m.conversation_id, m.external_id, m.incoming, m.sender, m.content, m.source_url, m.raw_data, m.created_at,
    m.number, m.source, m.contact_ref
  from rows from (unnest(latest), unnest(senders)) as m (
    workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
    number, source, contact_ref, sender, given, missed)
  where m.id <> all (replaced);
  if has_others then
    insert into unresolved_reference (workspace_id, ref_id, record_id, number)
    select ws, u.ref_id, m.id, m.number + 1
    from rows from (unnest(latest), unnest(senders)) as m (
      workspace_id, id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at,
      number, source, contact_ref, sender, given, missed),
      unnest(m.missed) as u (ref_id)
    on conflict do nothing;
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION store_part(ws uuid, part jsonb)
 RETURNS SETOF submission
 LANGUAGE plpgsql
AS $function$
declare
  identities record;
  said record;
  changed uuid[] := '{}';
  appeared uuid[] := '{}';
  touched uuid[] := '{}';
  superseded bigint[] := '{}';
  passed jsonb := part;
  refused bigint[] := '{}';
  has_fences boolean := exists (select from fence where workspace_id = ws);
  has_purges boolean := exists (select from purge where workspace_id = ws);
  incoming said_feedback[];
  submissions said_submission[];
  states text[];
  settled bigint[];
  are_known boolean;
begin
  if has_fences then
    select f.passed, f.refused into passed, refused from past_fences(ws, part) as f;
  end if;
  select
    array_agg(row(
      f.id, f.description, f.title, f.is_transcript, f.tags, f.rating, f.source, f.source_id, f.source_data, f.number,
      f.contact_ref, f.account_ref, f.project_ref
    )::said_feedback),
    array_agg(row(f.submission, f.number, 'create_feedback', f.attempts, f.id)::said_submission) filter (where f.submission is not null)
  into incoming, submissions
  from jsonb_to_recordset(part -> 'feedback') as f (
    id uuid, description text, title text, is_transcript boolean, tags text[], rating double precision, source text, source_id text,
    source_data jsonb, number bigint, contact_ref jsonb, account_ref jsonb, project_ref jsonb, submission uuid, attempts integer
  );
  submissions := array(select s from jsonb_populate_recordset(null::said_submission, part -> 'submissions') as s) || submissions;
  -- Delivered again although it was settled before: a purge may have removed it meanwhile, so nothing of it is looked at.
  select coalesce(array_agg(d.number) filter (where s.state in ('applied', 'superseded', 'purged')), '{}'), count(*) > 0
  into settled, are_known
  from unnest(submissions) as d,
    lateral (select state from submission where workspace_id = ws and id = d.id offset 0) as s;
  if has_purges then
    perform remove_before(
      ws,
      array(select id from unnest(incoming)),
      array(select (c ->> 'id')::uuid from jsonb_array_elements(part -> 'conversations') as c)
    );
  end if;
  if passed ? 'keys' then
    select * into identities from store_identities(
      ws,
      array(select k from jsonb_populate_recordset(null::identity_key, passed -> 'keys') as k where k.said_from <> all (settled)),
      array(select c from jsonb_populate_recordset(row(null, null, null, null, false, true)::said_claim, passed -> 'claims') as c where c.number <> all (settled))
    );
    changed := identities.changed;
    appeared := identities.appeared;
    touched := identities.touched;
  end if;
  if passed ? 'conversations' then
    perform store_conversations(
      ws,
      array(select c from jsonb_populate_recordset(null::conversation, passed -> 'conversations') as c where c.number <> all (settled)),
      array(select m from jsonb_populate_recordset(null::message, passed -> 'messages') as m where m.number <> all (settled))
    );
  end if;
  if has_fences or cardinality(settled) > 0 then
    incoming := array(
      select f from jsonb_populate_recordset(null::said_feedback, passed -> 'feedback') as f where f.number <> all (settled)
    );
  end if;
  if cardinality(incoming) > 0 then
    said := store_feedback(ws, incoming);
    changed := changed || said.changed;
    appeared := appeared || said.appeared;
    superseded := said.superseded;
  end if;
  -- Whoever comes late has been waited for by nobody, mostly: 2 us for each new contact.
  if cardinality(changed) > 0 or exists (select from unresolved_reference where workspace_id = ws) then
    touched := touched || relink(ws, changed, appeared);
  end if;
  if cardinality(touched) > 0 then
    perform gather(
      ws, array(select t from unnest(touched) as t except select unnest(contact_ids) from purge where workspace_id = ws)
    );
  end if;
  -- Mostly all are applied, and nobody has to hear of them.
  if not are_known and cardinality(refused || superseded) = 0 and not part ? 'conversations' then
    insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
    select ws, s.id, s.number, s.operation, 'applied', s.attempts, now() from unnest(submissions) as s;
    return;
  end if;
  states := array(
    select case
      when s.number = any (refused) then 'purged'
      when s.operation = 'create_feedback' and s.number = any (superseded) then 'superseded'
      when s.operation = 'submit_conversation' and exists (
        select from conversation as c where c.workspace_id = ws and c.id = s.record and c.number > s.number offset 0
      ) then 'superseded'
      else 'applied'
    end
    from unnest(submissions) as s
  );
  if are_known then
    return query
    update submission as k set state = s.state, attempts = s.attempts, finished_at = now(), error = null
    from rows from (unnest(submissions), unnest(states)) as s (id, number, operation, attempts, record, state),
      lateral (
        select ctid as place from submission where workspace_id = ws and id = s.id and state in ('queued', 'dead') offset 0
      ) as held
    where k.workspace_id is not distinct from ws and k.ctid = held.place
    returning k.*;
  end if;
  return query
  insert into submission as k (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
  select ws, s.id, s.number, s.operation, s.state, s.attempts, now()
  from rows from (unnest(submissions), unnest(states)) as s (id, number, operation, attempts, record, state)
  where not are_known or not exists (select from submission as held where held.workspace_id = ws and held.id = s.id offset 0)
  returning k.*;
end $function$
;

CREATE OR REPLACE FUNCTION store_tags(ws uuid, tagged jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  deltas jsonb;
begin
  perform lock_workspaces(array[ws]);
  with given as (
    select g.record, g.id, g.number, array(select jsonb_array_elements_text(g.tags)) as tags
    from jsonb_to_recordset(tagged) as g (record text, id uuid, number bigint, tags jsonb)
  ),
  conversations as (
    select held.place, g.tags, held.tags as former
    from given as g,
      lateral (
        select ctid as place, tags from conversation as c where c.workspace_id = ws and c.id = g.id and text_number(c) = g.number offset 0
      ) as held
    where g.record = 'conversation'
  ),
  kept_feedback as (
    update feedback as f set tags = g.tags
    from given as g,
      lateral (
        select ctid as place from feedback as k
        where k.workspace_id = ws and k.id = g.id and k.number = g.number and k.tags is null offset 0
      ) as held
    where g.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place
    returning f.tags
  ),
  kept_conversations as (
    update conversation as c set tags = k.tags from conversations as k where c.workspace_id is not distinct from ws and c.ctid = k.place
    returning c.tags, k.former
  )
  select jsonb_object_agg(title, delta) into deltas
  from (
    select title, sum(uses) as delta
    from (
      select unnest(tags) as title, 1 as uses from kept_feedback
      union all
      select unnest(tags), 1 from kept_conversations
      union all
      select unnest(former), -1 from kept_conversations
    ) as changes
    group by title
  ) as summed;
  if deltas is not null then
    perform count_tags(ws, deltas);
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION store_tags(ws uuid, tagger integer, tagged jsonb, most_terms bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  standing tagged_record[];
  ids uuid[];
  deltas jsonb;
  memory tag_memory;
begin
  perform lock_workspaces(array[ws]);
  standing := array(
    select t from jsonb_populate_recordset(null::tagged_record, tagged) as t
    where case t.record
      when 'feedback' then exists (
        select from feedback as f
        where f.workspace_id = ws and f.id = t.id and f.number::text = t.text_version and f.tags_generated <> t.judged
        offset 0
      )
      else (
        exists (select from conversation as c where c.workspace_id = ws and c.id = t.id offset 0)
        and conversation_version(ws, t.id) = t.text_version
      )
    end
    order by t.id
  );
  ids := array(select id from unnest(standing));
  -- Mostly people's tags teach only, and nothing is given.
  if exists (select from unnest(standing) as t where not t.judged) then
    select jsonb_object_agg(title, delta) into deltas
    from (
      select title, sum(uses) as delta
      from (
        select g.title, 1 as uses from unnest(standing) as t, unnest(t.tags) as g (title) where not t.judged
        union all
        select unnest(tags), -1 from feedback where workspace_id = ws and id = any (ids) and tags_generated
        union all
        select unnest(tags), -1 from conversation where workspace_id = ws and id = any (ids)
      ) as changes
      group by title having sum(uses) <> 0
    ) as summed;
    update feedback as f set tags = t.tags, tagger_version = tagger
    from unnest(standing) as t, lateral (select ctid as place from feedback where workspace_id = ws and id = t.id offset 0) as held
    where not t.judged and t.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
    update conversation as c set tags = t.tags, tagger_version = tagger
    from unnest(standing) as t, lateral (select ctid as place from conversation where workspace_id = ws and id = t.id offset 0) as held
    where t.record = 'conversation' and c.workspace_id is not distinct from ws and c.ctid = held.place;
    if deltas is not null then
      perform count_tags(ws, deltas);
    end if;
  end if;
  perform take_out(ws, ids);
  insert into tag_share (
    workspace_id, record_id, number, text_version, tagger_version, judged, given, terms, hashes, traits, tag_hashes, titles)
  select ws, id, number, text_version, tagger, judged, given, cardinality(hashes), hashes, traits, tag_hashes, titles
  from unnest(standing);
  select * into memory from tag_memory where workspace_id = ws;
  perform forget_oldest(ws, true, memory.judged_terms - most_terms);
  perform forget_oldest(ws, false, memory.terms - memory.judged_terms - most_terms);
  return cardinality(ids);
end $function$
;

CREATE OR REPLACE FUNCTION sum_keys(keys identity_key[])
 RETURNS identity_key[]
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  repeated uuid[] := array(select id from unnest(keys) group by id having count(*) > 1);
begin
  if cardinality(repeated) = 0 then return keys; end if;
  return array(select n from unnest(keys) as n where n.id <> all (repeated)) || array(
    select row(
      null, n.id, min(n.kind), (array_agg(n.group_id))[1], (array_agg(n.home_id order by n.said_from))[1],
      (array_agg(n.source order by n.said_from))[1], min(n.external_id), min(n.said_from), max(n.last_number), all_facts(n.facts),
      (array_agg(n.account_id order by n.account_number desc) filter (where n.account_id is not null))[1],
      max(n.account_number), null, null, null
    )::identity_key
    from unnest(keys) as n where n.id = any (repeated) group by n.id
  );
end $function$
;

CREATE OR REPLACE FUNCTION take_out(ws uuid, records uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from tag_share where workspace_id is not distinct from ws and ctid = any (array(
    select s.place from unnest(records) as r (id),
      lateral (select ctid as place from tag_share where workspace_id = ws and record_id = r.id offset 0) as s
  ));
end $function$
;

CREATE OR REPLACE FUNCTION take_out_replaced()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  ws uuid;
  ids uuid[];
begin
  for ws, ids in
    select b.workspace_id, array_agg(b.id)
    from before_rows as b join after_rows as a on a.workspace_id = b.workspace_id and a.id = b.id and a.number <> b.number
    group by b.workspace_id order by b.workspace_id
  loop
    perform take_out(ws, ids);
  end loop;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION take_out_shares()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  ws uuid;
  ids uuid[];
begin
  for ws, ids in select workspace_id, array_agg(id) from gone group by workspace_id order by workspace_id loop
    perform take_out(ws, ids);
  end loop;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION take_out_shortened()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  ws uuid;
  ids uuid[];
begin
  for ws, ids in
    select workspace_id, array_agg(distinct conversation_id) from gone group by workspace_id order by workspace_id
  loop
    perform take_out(ws, ids);
  end loop;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION text_number(c conversation)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
RETURN GREATEST((c).number, (c).purged_number)
;

CREATE OR REPLACE FUNCTION texts_to_read(ws uuid, feedback_ids uuid[], conversation_ids uuid[], tagger integer, again boolean)
 RETURNS TABLE(record text, id uuid, number bigint, text_version text, tags text[], text text)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
  select w.* from (
    select 'feedback', f.id, f.number, f.number::text as version, case when f.tags_generated then null else f.tags end,
      concat_ws(E'\n', f.title, f.description)
    from feedback as f
    where f.workspace_id = ws and f.id = any (feedback_ids) and (f.tags_generated or (not again and f.tags <> '{}'))
    union all
    select 'conversation', c.id, c.number, t.version, null, t.content
    from conversation as c, conversation_text(ws, c.id) as t
    where c.workspace_id = ws and c.id = any (conversation_ids)
  ) as w
  where again or not exists (
    select from tag_share as s
    where s.workspace_id = ws and s.record_id = w.id and s.text_version = w.version and s.tagger_version = tagger
    offset 0
  )
$function$
;

CREATE OR REPLACE FUNCTION withdraw_given(ws uuid, given given_reference[])
 RETURNS uuid[]
 LANGUAGE plpgsql
AS $function$
declare
  weak_keys uuid[];
  names uuid[];
  reached uuid[];
begin
  if cardinality(given) = 0 then return '{}'; end if;
  weak_keys := array(select distinct g.weak from unnest(given) as g);
  names := array(select distinct g.name_key from unnest(given) as g where g.name_key is not null);
  -- As long as the links stand: records that they led elsewhere are linked anew only afterwards.
  reached := coalesce(reach(ws, weak_keys || names), '{}');
  delete from identity_claim where workspace_id is not distinct from ws and ctid = any (array(
    select c.ctid from unnest(given) as g,
      lateral (
        select ctid from identity_claim where workspace_id = ws and key_id = g.name_key and number = g.number and link offset 0
      ) as c
  ));
  if found then
    perform restore_links(ws, names, reached);
  end if;
  update identity_key as k
  set said_from = kept.said_from, exists_from = least(kept.said_from, kept.claimed_from)
  from (
    select held.place, said.said_from,
      (select min(c.number) from identity_claim as c where c.workspace_id = ws and c.key_id = w.id) as claimed_from
    from unnest(weak_keys || names) as w (id)
    cross join lateral (select ctid as place from identity_key where workspace_id = ws and id = w.id offset 0) as held
    left join (
      select weak, min(number) as said_from
      from (
        select contact_ref ->> 'weak' as weak, number from references_to(ws, 'contact', reached) where contact_given
        union all
        select account_ref ->> 'weak', number from references_to(ws, 'account', reached) where account_given
        union all
        select project_ref ->> 'weak', number from references_to(ws, 'project', weak_keys || names) where project_given
      ) as kept_by
      group by weak
    ) as said on said.weak = w.id::text
  ) as kept
  where k.workspace_id is not distinct from ws and k.ctid = kept.place;
  return weak_keys || names;
end $function$
;

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

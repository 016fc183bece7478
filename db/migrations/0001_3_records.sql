-- Feedback, conversations and their messages.

create table feedback_category (
  workspace_id uuid not null,
  id uuid not null,
  title text not null,
  uses bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index feedback_category_created on feedback_category (workspace_id, created_at, id) where created_at is not null;
create index feedback_category_changed on feedback_category (workspace_id, change_position) where change_position is not null;

-- A theme: texts about one subject. A recurring tag opens it, or a person.
create table theme (
  workspace_id uuid not null,
  id uuid not null,
  -- 1, 2, … in the workspace: short, since the sums of its texts have it.
  number integer not null,
  -- The tag that places texts in the theme, as the tag memory has its hash and its title. Null for a
  -- theme that a person made, and when no text has the tag any more.
  tag_hash bigint,
  title text,
  -- What people have set.
  given_name text,
  is_hidden boolean not null default false,
  merged_into uuid,
  -- The number at acceptance of the newest edit of each member, for replays.
  edit_numbers jsonb,
  name text generated always as (coalesce(given_name, title)) stored,
  -- The theme that its texts show: itself, or the end of a chain of merges.
  shown_id uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index theme_created on theme (workspace_id, created_at, id) where created_at is not null;
create index theme_changed on theme (workspace_id, change_position) where change_position is not null;
create unique index theme_number on theme (workspace_id, number) where number is not null;
create unique index theme_tag on theme (workspace_id, tag_hash) where tag_hash is not null;

create table feedback (
  workspace_id uuid not null,
  id uuid not null,
  description text not null,
  title text,
  is_transcript boolean,
  tags text[],
  tags_generated boolean not null,
  mood double precision,
  kind text,
  theme_id uuid,
  -- What gave it the theme: `person`, `tag` or `likeness`.
  theme_by text,
  -- Feedback with nearly the same text shares it. Null if there is no other.
  similar_id uuid,
  rating double precision,
  source text not null,
  source_id text,
  source_data jsonb,
  contact_id uuid,
  account_id uuid,
  project_id uuid,
  source_created_at timestamptz,
  created_at timestamptz not null generated always as (coalesce(source_created_at, acceptance_time(first_number))) stored,
  accepted_at timestamptz generated always as (acceptance_time(first_number)) stored,
  updated_at timestamptz generated always as (acceptance_time(number)) stored,
  -- The submission that the record shows, and the first submission of the record.
  number bigint not null,
  -- As in `contact`.
  newest_number bigint,
  first_number bigint not null,
  -- The version of the tagger that generated the tags. Null if people gave them, or if no tagger has
  -- read the record yet.
  tagger_version integer,
  is_hidden boolean not null default false,
  -- What people have set, by the members of a correction, and what the source sent for these columns.
  -- Null if nothing is corrected.
  corrections jsonb,
  uncorrected jsonb,
  -- The number at acceptance of the newest correction of each member, for replays.
  correction_numbers jsonb,
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index feedback_contact on feedback (workspace_id, contact_id, created_at, id) where contact_id is not null;
create index feedback_account on feedback (workspace_id, account_id, created_at, id) where account_id is not null;
create index feedback_project on feedback (workspace_id, project_id, created_at, id) where project_id is not null;
create index feedback_theme on feedback (workspace_id, theme_id, created_at, id) where theme_id is not null;
create index feedback_similar on feedback (workspace_id, similar_id, created_at, id) where similar_id is not null;
create index feedback_created on feedback (workspace_id, created_at, id) where created_at is not null;
create index feedback_source on feedback (workspace_id, source, created_at, id) where source is not null;
create index feedback_hidden on feedback (workspace_id, created_at, id) where is_hidden;
create index feedback_changed on feedback (workspace_id, change_position) where change_position is not null;

-- How much feedback there is, without hidden feedback (db/functions/feedback-sums.sql). dimension:
-- time, tag, theme, kind, project, account, customer (without an account in the feedback), customer of
-- account; theme, kind and project `and day`; tag `and week`. key: an own id, or that of a category with
-- this tag; zeros for feedback without one. tag: the tag or kind. Of a merged theme, the own theme of the
-- feedback. period: with `time` and `and day`, the day; with `and week`, the first day of the part of a week
-- in one month; else -infinity. source: empty with `and …`. rating: with `time`, the rating; else NaN.
create table feedback_sum (
  workspace_id uuid not null,
  dimension text not null,
  key uuid not null,
  tag text,
  period date not null,
  source text not null,
  rating double precision not null,
  -- Postgres adds up integers with less memory than bigints.
  feedback integer not null,
  rated integer not null,
  bad integer not null,
  satisfaction numeric not null,
  primary key (workspace_id, dimension, key, period, source, rating)
) with (fillfactor = 70);

create table conversation (
  workspace_id uuid not null,
  id uuid not null,
  external_id text not null,
  source text not null,
  title text,
  rating double precision,
  tags text[],
  mood double precision,
  kind text,
  theme_id uuid,
  properties jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz,
  -- The greatest updatedAt of all submissions of the conversation.
  latest_version timestamptz,
  number bigint not null,
  newest_number bigint,
  -- The last purge that took messages from the conversation.
  purged_number bigint,
  tagger_version integer,
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index conversation_theme on conversation (workspace_id, theme_id) where theme_id is not null;
create index conversation_created on conversation (workspace_id, created_at, id) where created_at is not null;
create index conversation_changed on conversation (workspace_id, change_position) where change_position is not null;
create index conversation_purged on conversation (workspace_id, purged_number) where purged_number is not null;

create table conversation_contact (
  workspace_id uuid not null,
  conversation_id uuid not null,
  contact_id uuid not null,
  primary key (workspace_id, conversation_id, contact_id)
);
create index conversation_contact_contact on conversation_contact (workspace_id, contact_id) where contact_id is not null;

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
  -- The updatedAt of the submission that brought the message, and the number of this submission.
  version timestamptz,
  number bigint not null,
  newest_number bigint,
  change_position bigint not null,
  primary key (workspace_id, id)
);
create index message_contact on message (workspace_id, contact_id) where contact_id is not null;
create index message_conversation on message (workspace_id, conversation_id, created_at, id) where conversation_id is not null;
create index message_changed on message (workspace_id, change_position) where change_position is not null;

-- Deleted records, for consumers of the change feed.
create table tombstone (
  workspace_id uuid not null,
  position bigint not null,
  -- The name of the kind in the feed.
  kind text not null,
  record_id uuid not null,
  primary key (workspace_id, position)
);

-- The sources whose feedback has ratings, or to which an administrator gave settings.
create table source (
  workspace_id uuid not null,
  source text not null,
  -- All ratings that the source has sent, also in versions of feedback that were replaced or purged.
  -- Corrections do not count: what a person types must not move the scale of a source.
  ratings bigint not null default 0,
  least_rating double precision,
  most_rating double precision,
  -- Whether a person gave the scale, and this scale: both null if there is none.
  is_scale_given boolean not null default false,
  given_low double precision,
  given_high double precision,
  -- The scale. Without a given one, 20 ratings show it: 1 to 5, or 0 to 10 with one above 5.
  scale_low double precision generated always as (case
    when is_scale_given then given_low
    when ratings < 20 then null
    when least_rating >= 1 and most_rating <= 5 then 1
    when least_rating >= 0 and most_rating between 6 and 10 then 0
  end) stored,
  scale_high double precision generated always as (case
    when is_scale_given then given_high
    when ratings < 20 then null
    when least_rating >= 1 and most_rating <= 5 then 5
    when least_rating >= 0 and most_rating between 6 and 10 then 10
  end) stored,
  -- The scale by which the sums of feedback have its satisfaction.
  summed_low double precision,
  summed_high double precision,
  -- The address of a record in its source, with {sourceId} in place of its id.
  link text,
  -- The declared fields: an array of objects with name, path and of. Null without any.
  fields jsonb,
  primary key (workspace_id, source)
);
create index source_fields on source (workspace_id, source) where fields is not null;

-- One row for each feedback, for queries without joins. Feedback without an account belongs to the
-- account of its contact.
create view feedback_view as
  select f.workspace_id, f.id, f.title, f.description, f.is_transcript, f.tags, f.tags_generated, f.rating,
    f.mood, f.kind, h.id as theme_id, h.name as theme_name, f.theme_by, f.similar_id,
    f.source, f.source_id, f.source_data, f.created_at, f.accepted_at, f.updated_at,
    f.contact_id, c.name as contact_name, c.email as contact_email, c.contract_value as contact_contract_value,
    a.id as account_id, a.name as account_name, a.domain as account_domain, a.contract_value as account_contract_value,
    f.project_id, p.name as project_name,
    case when f.rating between s.scale_low and s.scale_high
      then (f.rating - s.scale_low) / (s.scale_high - s.scale_low) end as satisfaction,
    f.is_hidden,
    -- Of each name, the declaration of the source counts. Else that of the first source that declares
    -- it of contacts or accounts, since these have no source of their own. On Citus, no table may be
    -- read here.
    (select jsonb_object_agg(d.name, d.value) from (
      select distinct on (e.name) e.name, coalesce(o.record -> e.path, o.record #> string_to_array(e.path, '.')) as value
      from jsonb_to_recordset(w.declared) as g (source text, fields jsonb)
      cross join jsonb_to_recordset(g.fields) as e (name text, path text, "of" text)
      cross join lateral (
        select case e."of" when 'feedback' then f.source_data when 'contact' then c.properties else a.properties end as record
      ) as o
      where g.source = f.source or e."of" <> 'feedback'
      order by e.name, g.source <> f.source, g.source collate "C"
    ) as d where jsonb_typeof(d.value) in ('string', 'number', 'boolean')) as fields
  from feedback as f
  left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
  left join account as a on a.workspace_id = f.workspace_id and a.id = coalesce(f.account_id, c.account_id)
  left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id
  left join source as s on s.workspace_id = f.workspace_id and s.source = f.source
  left join theme as t on t.workspace_id = f.workspace_id and t.id = f.theme_id
  left join theme as h on h.workspace_id = t.workspace_id and h.id = t.shown_id
  left join (
    select g.workspace_id, jsonb_agg(jsonb_build_object('source', g.source, 'fields', g.fields)) as declared
    from source as g where g.fields is not null group by g.workspace_id
  ) as w on w.workspace_id = f.workspace_id;

create view feedback_tag as
  select f.workspace_id, f.id as feedback_id, t.tag from feedback as f, unnest(f.tags) as t (tag) where not f.is_hidden;

-- Planner statistics would keep texts of people until the next analyze.
alter table feedback_category alter title set statistics 0;
alter table theme alter title set statistics 0, alter given_name set statistics 0, alter name set statistics 0,
  alter edit_numbers set statistics 0;
alter table feedback alter description set statistics 0, alter title set statistics 0, alter tags set statistics 0,
  alter source_id set statistics 0, alter source_data set statistics 0, alter corrections set statistics 0,
  alter uncorrected set statistics 0, alter correction_numbers set statistics 0;
alter table feedback_sum alter tag set statistics 0;
alter table conversation alter external_id set statistics 0, alter title set statistics 0, alter tags set statistics 0,
  alter properties set statistics 0;
alter table message alter external_id set statistics 0, alter content set statistics 0, alter source_url set statistics 0,
  alter raw_data set statistics 0;

-- The tag memory of a workspace. A text that was read has a share: its terms under keyed hashes
-- (db/tags/tag-hashes.ts) and its tags. The other tables are the sums of all shares, as whole
-- numbers: so nothing of a subtracted share is left. Shares are never updated, only replaced.

create table tag_share (
  workspace_id uuid not null,
  record_id uuid not null,
  -- The acceptance number: the oldest shares are removed first.
  number bigint not null,
  -- The version of the text that the tagger read.
  text_version text not null,
  tagger_version integer not null,
  -- Whether people tagged the text, and the number of their tags.
  judged boolean not null,
  given integer not null,
  terms integer not null,
  hashes bigint[] not null,
  -- For each hash a sum: 1 after a determiner, 2 by itself, 4 with praise or blame, 8 in a tag that
  -- people gave.
  traits integer[] not null,
  tag_hashes bigint[] not null,
  titles text[] not null,
  primary key (workspace_id, record_id)
);
create index tag_share_oldest on tag_share (workspace_id, judged, number, record_id) include (terms) where number is not null;

create table tag_memory (
  workspace_id uuid not null,
  texts bigint not null,
  judged bigint not null,
  given bigint not null,
  judged_terms bigint not null,
  terms bigint not null,
  primary key (workspace_id)
);

create table tag_term (
  workspace_id uuid not null,
  hash bigint not null,
  texts integer not null,
  determined integer not null,
  free integer not null,
  valued integer not null,
  judged integer not null,
  given integer not null,
  primary key (workspace_id, hash)
);

create table tag_in_use (
  workspace_id uuid not null,
  hash bigint not null,
  -- A hash of the title, which keeps the rows of the index small.
  title_id uuid not null,
  title text not null,
  people integer not null,
  generated integer not null,
  primary key (workspace_id, hash, title_id)
);

alter table tag_share alter titles set statistics 0, alter hashes set statistics 0, alter tag_hashes set statistics 0;
alter table tag_in_use alter title set statistics 0;

-- The baseline, third part: purges, what texts have taught the tagger, and triggers.

-- What purges leave behind: for each identity key that one ended, the key's own hash, the purge's number, the own id that is
-- never given again, and the one that the key starts afresh with. Of an external id: its group, its source (hashed) and since when
-- it was known; without a source it was merely remembered. Records that went have fences too: their ids stay, but not what was
-- submitted before.
create table fence (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  id uuid not null,
  next_id uuid not null,
  group_id uuid,
  source_hash uuid,
  from_number bigint,
  primary key (workspace_id, key_id, number)
);
create index fence_id on fence (id);
create index fence_next on fence (next_id);
create index fence_group on fence (group_id) where group_id is not null;
-- A purge that is decided asks which keys it has ended.
create index fence_number on fence (number);

-- Claims of contacts whom purges ended, on emails that others have claimed as well: whom the email meant before the purge.
create table fence_claim (
  workspace_id uuid not null,
  key_id uuid not null,
  number bigint not null,
  ended_number bigint not null,
  primary key (workspace_id, key_id, number, ended_number)
);

-- A purge that has been decided and whose records are being removed, with what it has removed so far. contact_ids are ids that
-- mean nobody any more, so whatever still carries one is to go; remembered: an external id (a group) that nobody had.
-- keys: hashes of everything that the contacts could be meant by.
create table purge (
  workspace_id uuid not null,
  id uuid not null,
  number bigint not null,
  contact_ids uuid[] not null,
  remembered uuid,
  keys uuid[] not null,
  contacts bigint not null,
  feedback bigint not null default 0,
  messages bigint not null default 0,
  conversations bigint not null default 0,
  dead_submissions bigint not null default 0,
  primary key (workspace_id, id)
);

-- What a workspace's texts have taught the tagger. Every text has a share: its terms under keyed hashes (db/tags/tag-hashes.ts) and the
-- tags that it carries. The tables below are the sums of all shares, kept by triggers, in whole numbers: a share that goes is
-- taken out to the last count, and a workspace that never had it looks the same. Shares are never updated, only replaced.
create table tag_share (
  workspace_id uuid not null,
  record_id uuid not null,
  -- By acceptance: the oldest shares go first.
  number bigint not null,
  -- Of the text and of the tagger that made it.
  text_version text not null,
  tagger_version int not null,
  -- Whether people tagged the text, and with how many tags.
  judged boolean not null,
  given int not null,
  terms int not null,
  hashes bigint[] not null,
  -- For each hash: 1 after a determiner, 2 by itself, 4 with praise or blame, 8 in a tag that people gave.
  traits int[] not null,
  -- The tags, each as a term and as it is written.
  tag_hashes bigint[] not null,
  titles text[] not null,
  primary key (workspace_id, record_id)
);
-- The workspace is not its first column, so that nobody who looks for a record takes it for as good as the primary key.
create index tag_share_oldest on tag_share (judged, workspace_id, number, record_id) include (terms);

create table tag_memory (
  workspace_id uuid not null,
  texts bigint not null,
  judged bigint not null,
  given bigint not null,
  -- Terms of all shares together, of texts that people tagged and of all.
  judged_terms bigint not null,
  terms bigint not null,
  primary key (workspace_id)
);

create table tag_term (
  workspace_id uuid not null,
  hash bigint not null,
  texts int not null,
  determined int not null,
  free int not null,
  valued int not null,
  judged int not null,
  given int not null,
  primary key (workspace_id, hash)
);

-- title_id: titles can exceed what an index row holds.
create table tag_in_use (
  workspace_id uuid not null,
  hash bigint not null,
  title_id uuid not null,
  title text not null,
  people int not null,
  generated int not null,
  primary key (workspace_id, hash, title_id)
);

-- Planner statistics would keep what people have said until the next analyze.
alter table tag_share alter titles set statistics 0, alter hashes set statistics 0, alter tag_hashes set statistics 0;
alter table tag_in_use alter title set statistics 0;

-- Triggers are part of their tables. What they call stands in db/functions, which is applied next: until then it does nothing.
do $$
declare
  called text;
begin
  foreach called in array array[
    'count_settled', 'forget_dead', 'count_shares', 'take_out_shares', 'take_out_replaced', 'take_out_shortened', 'forget_tagger'
  ] loop
    execute format('create function %I() returns trigger language plpgsql as ''begin return null; end''', called);
  end loop;
end $$;

create trigger submission_inserted after insert on submission
  referencing new table as after_rows for each statement execute function count_settled();
create trigger submission_updated after update on submission
  referencing old table as before_rows new table as after_rows for each statement execute function count_settled();
create trigger submission_settled after update on submission
  referencing new table as after_rows for each statement execute function forget_dead();

create trigger count_new_shares after insert on tag_share
  referencing new table as shares for each statement execute function count_shares();
create trigger count_gone_shares after delete on tag_share
  referencing old table as shares for each statement execute function count_shares();

-- With a record goes its share, whatever removes the record, replaces it or takes messages from it.
create trigger take_out_shares after delete on feedback
  referencing old table as gone for each statement execute function take_out_shares();
create trigger take_out_shares after delete on conversation
  referencing old table as gone for each statement execute function take_out_shares();
create trigger take_out_replaced after update on feedback
  referencing old table as before_rows new table as after_rows for each statement execute function take_out_replaced();
create trigger take_out_shortened after delete on message
  referencing old table as gone for each statement execute function take_out_shortened();

-- Another feedback takes the place: its text is not the one that was learned from. Its tags come with it, or are generated anew.
create trigger forget_tagger before update of number on feedback
  for each row when (old.number <> new.number and old.tagger_version is not null) execute function forget_tagger();
-- A purge that takes messages out of a conversation takes its tags: what it taught goes as well.
create trigger forget_tagger before update of tags on conversation
  for each row when (new.tags is null and old.tagger_version is not null) execute function forget_tagger();

-- A version that had all 21 migrations finds none missing, should it come back.
insert into schema_migration (number, name) select number, 'baseline' from generate_series(1, 20) as number;

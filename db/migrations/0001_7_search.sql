-- The search index of a workspace. A feedback is one text; the title and each message of a
-- conversation are one, too. Each indexed text has a number: feedback below 2^30, conversations from
-- there. A block has the numbers that are equal after a division by 1,024. The words of texts are
-- hashes under the hash key, as in the tag memory. No table has the texts. Rows without a text are
-- deleted: so no hash of a word stays that only purged texts had. Indexes of the type GIN would keep
-- such hashes until REINDEX.

create table search_text (
  workspace_id uuid not null,
  record_id uuid not null,
  number integer not null,
  -- The words of the text, by which it leaves the blocks again.
  hashes bigint[] not null,
  primary key (workspace_id, number) include (record_id)
);
create index search_text_record on search_text (workspace_id, record_id) where record_id is not null;

-- The texts of a full block that have a word.
create table search_block (
  workspace_id uuid not null,
  block integer not null,
  hash bigint not null,
  -- The remainders of the numbers.
  places smallint[] not null,
  primary key (workspace_id, block, hash)
);

-- The times between which all texts of a block were created. A text that leaves does not narrow
-- them.
create table search_span (
  workspace_id uuid not null,
  block integer not null,
  texts integer not null,
  -- Whether search_block has the block. A block is filed when it is full: so each word is written
  -- once for a block. Until then, a search reads the hashes of its texts.
  is_filed boolean not null default false,
  least_at timestamptz not null,
  greatest_at timestamptz not null,
  primary key (workspace_id, block)
);

alter table search_text alter hashes set statistics 0;
alter table search_block alter hash set statistics 0, alter places set statistics 0;

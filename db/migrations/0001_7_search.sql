-- The search index of a workspace. Each indexed text has a number. A block has the numbers that are
-- equal after a division by 1,024. The words of texts are hashes under the hash key, as in the tag
-- memory. No table has the texts. Rows without a text are deleted: so no hash of a word stays that
-- only purged texts had. Indexes of the type GIN would keep such hashes until REINDEX.

create table search_text (
  workspace_id uuid not null,
  record_id uuid not null,
  number integer not null,
  -- The words of the text, by which it leaves the blocks again.
  hashes bigint[] not null,
  primary key (workspace_id, number)
);
create index search_text_record on search_text (workspace_id, record_id) where record_id is not null;

-- The texts of a block that have a word. The block comes before the hash, so that new texts write to
-- few pages.
create table search_block (
  workspace_id uuid not null,
  block integer not null,
  hash bigint not null,
  -- The remainders of the numbers, ascending.
  places smallint[] not null,
  primary key (workspace_id, block, hash)
);

-- The times between which all texts of a block were created. A text that leaves does not narrow
-- them.
create table search_span (
  workspace_id uuid not null,
  block integer not null,
  texts integer not null,
  least_at timestamptz not null,
  greatest_at timestamptz not null,
  primary key (workspace_id, block)
);

alter table search_text alter hashes set statistics 0;
alter table search_block alter hash set statistics 0, alter places set statistics 0;

-- What the texts of a workspace teach about themes, mood and kind. A text that was read has a share;
-- meaning_sum has the sums of all shares, as whole numbers. Hashes are keyed as those of the tag memory
-- (db/tags/tag-hashes.ts). Of a share, only the cell is updated; else it is replaced.

create table meaning_share (
  workspace_id uuid not null,
  record_id uuid not null,
  -- The acceptance number: the last texts of a workspace open themes.
  number bigint not null,
  -- The version of the text, and of the tagger that read it.
  text_version text not null,
  tagger_version integer not null,
  -- The terms of the text and the keys of its tags. The cell is that of its theme: null without one.
  terms bigint[] not null,
  tags bigint[] not null,
  theme_cell integer,
  -- Stems of a text with a rating or a kind that a person set, and the cells of its mood and kind.
  cues bigint[] not null,
  cue_cells integer[] not null,
  -- For near-identical texts (meaning/near-identical.ts). Empty for conversations.
  bands bigint[] not null,
  marks bytea not null,
  primary key (workspace_id, record_id)
);
create index meaning_share_number on meaning_share (workspace_id, number, record_id) where number is not null;

-- How many texts of a cell have a term. The hash 0 stands for all texts of the cell.
create table meaning_sum (
  workspace_id uuid not null,
  hash bigint not null,
  cell integer not null,
  texts integer not null,
  primary key (workspace_id, hash, cell)
) with (fillfactor = 70);

-- The bands of the shares. A share knows its own, so this table needs no index by record.
create table text_band (
  workspace_id uuid not null,
  band bigint not null,
  record_id uuid not null,
  primary key (workspace_id, band, record_id)
);

alter table meaning_share alter terms set statistics 0, alter tags set statistics 0, alter cues set statistics 0,
  alter bands set statistics 0;
alter table text_band alter band set statistics 0;
alter table meaning_sum alter hash set statistics 0;

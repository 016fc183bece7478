-- Workspaces that an operator has deleted, or is deleting: nothing is stored of one any more, whoever has something of it in hand,
-- and however late. Only the id stays, which nothing else has; the name goes with the row in workspace, when all is removed.
create table deleted_workspace (
  id uuid primary key,
  deleted_at timestamptz not null default now()
);

-- The lock of a workspace, and its deletion. A function that adds or changes records first locks
-- the workspace's row in workspace_progress. So one transaction at a time writes records of a
-- workspace. A deletion removes this row first.

-- Locks a workspace until the transaction ends. Returns false if the workspace is deleted: the
-- caller must not write to it then.
create or replace function lock_progress(ws uuid) returns boolean
  language plpgsql
  set enable_seqscan = off
as $$
begin
  perform from workspace_progress where workspace_id = ws for update;
  return found;
end $$;

-- Creates a workspace. Returns no row if the name is taken.
create or replace function create_workspace(of_name text) returns table (id uuid, created_at timestamptz)
  language plpgsql
  set enable_seqscan = off
as $$
begin
  id := gen_random_uuid();
  created_at := now();
  insert into workspace (id, name, created_at) values (create_workspace.id, of_name, create_workspace.created_at)
  on conflict (name) do nothing;
  if not found then return; end if;
  insert into workspace_progress (workspace_id) values (create_workspace.id);
  return next;
end $$;

-- Begins a deletion, and can be repeated. Returns how many milliseconds ago the deletion began.
create or replace function begin_deletion(of_workspace uuid) returns double precision
  language plpgsql
  set enable_seqscan = off
as $$
begin
  delete from workspace_progress where workspace_id = of_workspace;
  insert into deleted_workspace (id) values (of_workspace) on conflict do nothing;
  delete from token where workspace_id = of_workspace;
  return (select extract(epoch from clock_timestamp() - deleted_at) * 1000 from deleted_workspace where id = of_workspace);
end $$;

-- Deletes at most `most` rows of a table whose primary key is (workspace_id, ...). Returns how
-- many.
create or replace function delete_rows(ws uuid, of_table text, most int) returns int
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  key text := primary_key(of_table);
  deleted int;
begin
  -- The delete covers a range of the primary key, which no plan can turn into a join.
  execute format(
    'delete from %1$I where workspace_id = $1 and (%2$s) <= (
       select %2$s from (select %2$s from %1$I where workspace_id = $1 order by %2$s limit $2) as first_keys
       order by %3$s limit 1
     )',
    of_table, key, replace(key || ' ', ',', ' desc,') || 'desc'
  ) using ws, most;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

-- The columns of a table's primary key, as a list.
create or replace function primary_key(of_table text) returns text
  language sql stable as $$
  select string_agg(quote_ident(a.attname), ', ' order by k.place)
  from pg_index as x
  cross join lateral unnest(x.indkey) with ordinality as k (attnum, place)
  join pg_attribute as a on a.attrelid = x.indrelid and a.attnum = k.attnum
  where x.indrelid = of_table::regclass and x.indisprimary
$$;

import type { Sql } from '../connection/postgres.ts'
import { OWNED_TABLES } from '../workspaces/delete-workspace.ts'

/** Every node has all rows of these tables. All other tables stay on the coordinator. */
const REFERENCE_TABLES = ['workspace', 'deleted_workspace']
/** The first table gives the shards, and all others are co-located with it. */
const DISTRIBUTED_TABLES = ['workspace_progress', ...OWNED_TABLES]

/**
 * `plain`: the tables are on one server. `distributed`: the nodes of Citus have them. `to-do`: some
 * tables are still to be distributed.
 */
export type Distribution = 'plain' | 'distributed' | 'to-do' | 'no-citus'

/**
 * The distribution of the tables in this schema. `shards` asks for one; without it, a schema that
 * was distributed before stays so. `no-citus`: it is asked for, and the database lacks Citus.
 */
export const readDistribution = async (sql: Sql, shards: number | undefined): Promise<Distribution> => {
  const [{ hasCitus }] = await sql<[{ hasCitus: boolean }]>`
    select to_regclass('pg_dist_partition') is not null as "hasCitus"`
  if (!hasCitus) return shards === undefined ? 'plain' : 'no-citus'
  const [{ done }] = await sql<[{ done: string[] }]>`
    select array(
      select c.relname::text from pg_dist_partition as d join pg_class as c on c.oid = d.logicalrelid
      where c.relnamespace = current_schema()::regnamespace
    ) as done`
  if (shards === undefined && !done.includes('workspace_progress')) return 'plain'
  const isDone = [...REFERENCE_TABLES, ...DISTRIBUTED_TABLES].every((table) => done.includes(table))
  return isDone ? 'distributed' : 'to-do'
}

/**
 * Begins a transaction that changes a distributed schema. Otherwise Citus uses several connections
 * to a node, which do not see each other's changes.
 */
export const BEGIN_DISTRIBUTED = `set local citus.multi_shard_modify_mode = 'sequential';`

const literals = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')

/** Distributes the tables that are not distributed yet, with their rows. */
export const distributeTables = (shards: number | undefined): string => `
  do $tables$
  declare
    name text;
    first constant text := '${DISTRIBUTED_TABLES[0]}';
  begin
    foreach name in array array[${literals([...REFERENCE_TABLES, ...DISTRIBUTED_TABLES])}] loop
      continue when exists (select from pg_dist_partition where logicalrelid = name::regclass);
      case
        when name in (${literals(REFERENCE_TABLES)}) then perform create_reference_table(name::regclass);
        when name = first then
          perform create_distributed_table(name::regclass, 'workspace_id', shard_count => ${shards ?? 'null'}, colocate_with => 'none');
        else perform create_distributed_table(name::regclass, 'workspace_id', colocate_with => first);
      end case;
    end loop;
  end $tables$;`

/**
 * Lets a call of a function with the first parameter `ws` run on the node of that workspace. Such a
 * call has none of the settings of its session, so the function gets them. Generic plans go: the
 * node of a workspace depends on the value of `ws`.
 */
export const DISTRIBUTE_FUNCTIONS = `
  do $functions$
  declare
    f record;
  begin
    for f in
      select p.oid::regprocedure as name, p.proargnames[1] = 'ws' and p.proargtypes[0] = 'uuid'::regtype as is_of_workspace,
        'plan_cache_mode=force_generic_plan' = any (p.proconfig) as is_generic,
        exists (
          select from pg_dist_object as o
          where o.classid = 'pg_proc'::regclass and o.objid = p.oid and o.distribution_argument_index is not null
        ) as is_distributed
      from pg_proc as p
      where p.pronamespace = current_schema()::regnamespace and p.prokind = 'f' and p.proconfig is not null
    loop
      if f.is_generic then execute format('alter function %s reset plan_cache_mode', f.name); end if;
      continue when not f.is_of_workspace;
      execute format('alter function %s set search_path = %I', f.name, current_schema());
      execute format('alter function %s set timezone = %L', f.name, 'UTC');
      if not f.is_distributed then
        perform create_distributed_function(f.name, 'ws', colocate_with => 'workspace_progress');
      end if;
    end loop;
  end $functions$;`

import type { Sql } from '../../db/connection/postgres.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { scanKeys } from '../../queue/redis/redis-servers.ts'

const KEYS_AT_ONCE = 1_000

/**
 * Counts the rows of each table, and the keys in Redis, that belong to a workspace. `rows` leaves
 * out tables without such rows. `tables` is the number of searched tables.
 */
export const residueOfWorkspace = async (
  { sql, redis, prefix }: { sql: Sql; redis: RedisClient; prefix: string },
  workspaceId: string,
): Promise<{ rows: { table: string; count: number }[]; tables: number; keys: number }> => {
  const names = new Set<string>()
  for await (const found of scanKeys(redis, {
    match: workspaceKeys(prefix, workspaceId).pattern,
    count: KEYS_AT_ONCE,
  })) {
    for (const name of found) names.add(name)
  }
  const rows: { table: string; count: number }[] = []
  const tables = await readOwnedTables(sql)
  for (const { table, column } of tables) {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::float8 as count from ${sql(table)} where ${sql(column)} = ${workspaceId}`
    if (row.count > 0) rows.push({ table, count: row.count })
  }
  return { rows, tables: tables.length, keys: names.size }
}

/** Every table with a column for the workspace, and the table of workspaces itself. */
const readOwnedTables = (sql: Sql): Promise<{ table: string; column: string }[]> =>
  sql<{ table: string; column: string }[]>`
    select c.relname as table, a.attname as column
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and (a.attname = 'workspace_id' or (c.relname = 'workspace' and a.attname = 'id'))
    order by c.relname`.execute()

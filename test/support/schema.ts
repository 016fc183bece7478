import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { migrate, type Migration, readMigrations } from '../../db/schema/migrate.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { isOnCitus } from './citus.ts'
import { testServers } from './servers.ts'
import { until } from './until.ts'

export type TestSchema = { name: string; sql: Sql; drop: () => Promise<void> }

export const hashKey = hashKeyFrom('5a'.repeat(32))

/** A pool for a schema of the test server, by default of one connection. */
export const connectToSchema = (schema: string, options: Partial<Parameters<typeof connectPostgres>[1]> = {}): Sql => {
  const defaults = { connections: 1, statementTimeoutMs: 60_000, applicationName: 'test' }
  return connectPostgres(testServers().databaseUrl, { ...defaults, schema, ...options })
}

/** A new schema in the test server, and a pool for it. */
export const emptySchema = async (connections = 4): Promise<TestSchema> => {
  const name = `t_${randomBytes(8).toString('hex')}`
  const sql = connectToSchema(name, { connections })
  await sql`create schema ${sql(name)}`
  return {
    name,
    sql,
    drop: async () => {
      await sql`drop schema ${sql(name)} cascade`
      await sql.end({ timeout: 5 })
    },
  }
}

/** A migrated schema. */
export const freshSchema = async (connections = 4): Promise<TestSchema> => {
  const schema = await emptySchema(connections)
  await migrate(schema.sql, await testMigrations(), { shards: testShards() })
  return schema
}

/** Into how many shards `CITUS_SHARDS` splits the tables of the tests. */
export const testShards = (): number | undefined => {
  const shards = process.env['CITUS_SHARDS']
  return shards === undefined ? undefined : Number(shards)
}

let shared: Promise<TestSchema> | undefined

/**
 * A migrated schema that all files of a run share, for tests with workspaces of their own. It ends
 * with the run.
 */
export const sharedSchema = (): Promise<TestSchema> => (shared ??= freshSchema())

/** Does `work` on a new connection, so that it does not change the plans of tested connections. */
export const withOtherConnection = async (
  schema: string,
  statementTimeoutMs: number,
  work: (sql: Sql) => Promise<void>,
): Promise<void> => {
  const sql = connectToSchema(schema, { statementTimeoutMs })
  try {
    await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * Does `work` in a transaction, begins `next`, and commits when `next` waits for the transaction or
 * has ended. Returns the result of `next`.
 */
export const whileLocked = async <T>(
  sql: Sql,
  work: (transaction: Sql) => Promise<unknown>,
  next: () => Promise<T>,
): Promise<T> => {
  const transaction = await sql.reserve()
  await transaction.unsafe('begin')
  await work(transaction)
  const [{ pid }] = await transaction<[{ pid: number }]>`select pg_backend_pid() as pid`
  let isSettled = false
  const result = next().finally(() => (isSettled = true))
  await until('a statement waits for the transaction', async () => {
    // On Citus, statements wait on the node of their workspace.
    const waiting = isOnCitus()
      ? await sql`select from citus_lock_waits`
      : await sql`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`
    return isSettled || waiting.count > 0
  })
  await transaction.unsafe('commit')
  transaction.release()
  return result
}

/** Makes workspaces with their ids as names. */
export const makeWorkspaces = async (sql: Sql, workspaceIds: readonly string[]): Promise<void> => {
  await sql`
    insert into workspace (id, name) select w, w::text from unnest(${[...workspaceIds]}::uuid[]) as w
    on conflict do nothing`
  await sql`
    insert into workspace_progress (workspace_id) select unnest(${[...workspaceIds]}::uuid[])
    on conflict do nothing`
}

export const PARTITIONS = 4
const TABLE = /^create table (\w+) \(\n([\s\S]*?)\n\)(?: with \(.*\))?;/gm

/** Migrations in which each table whose primary key begins with the workspace is partitioned. */
export const partitionedMigrations = async (): Promise<Migration[]> =>
  (await readMigrations()).map((migration) => ({ ...migration, text: partitioned(migration.text) }))

/**
 * The migrations of the tests: unchanged, or with `TEST_TABLES=partitioned` the partitioned ones.
 */
export const testMigrations = (): Promise<Migration[]> =>
  process.env['TEST_TABLES'] === 'partitioned' ? partitionedMigrations() : readMigrations()

const isOfWorkspace = (body: string): boolean => /primary key \(workspace_id/.test(body)

const partitioned = (text: string): string =>
  text.replaceAll(TABLE, (whole, name: string, body: string) => {
    if (!isOfWorkspace(body)) return whole
    const parts = Array.from(
      { length: PARTITIONS },
      (_, index) =>
        `create table ${name}_${index} partition of ${name} for values with (modulus ${PARTITIONS}, remainder ${index});`,
    )
    return [`create table ${name} (\n${body}\n) partition by hash (workspace_id);`, ...parts].join('\n')
  })

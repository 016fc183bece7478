import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { BEGIN_DISTRIBUTED, DISTRIBUTE_FUNCTIONS, distributeTables, readDistribution } from './distribute.ts'
import { FUNCTIONS_TABLE, type Functions, hasFunctions, readFunctions, whatToApply } from './functions.ts'
import type { Sql } from '../connection/postgres.ts'

const DIRECTORY = new URL('../migrations/', import.meta.url)
/** A migration of several files has numbered files: 0001_1_workspaces.sql, 0001_2_identity.sql. */
const NAME = /^(\d{4})_(?:\d_)?[a-z0-9-]+\.sql$/
const POLL_MS = 100
const LONGEST_WAIT_MS = 600_000

/** `name` lists the files of the migration. */
export type Migration = { number: number; name: string; text: string }
/** An applied migration in the database. `checksum` is of its text. */
type AppliedMigration = { number: number; name: string; checksum: string }

/** A database that this version must not change. The message says what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused'
}

export const readMigrations = async (): Promise<Migration[]> => {
  const names = (await readdir(DIRECTORY)).filter((file) => file.endsWith('.sql')).toSorted()
  const misnamed = names.find((file) => !NAME.test(file))
  if (misnamed !== undefined)
    throw new Error(`${misnamed} is not a name for a migration: expected a name such as 0001_lower-case.sql.`)
  const byNumber = Map.groupBy(names, (name) => Number(NAME.exec(name)![1]))
  return Promise.all(
    [...byNumber].map(async ([number, files]) => ({
      number,
      name: files.join(', '),
      text: (await Promise.all(files.map((file) => readFile(new URL(file, DIRECTORY), 'utf8')))).join('\n'),
    })),
  )
}

/**
 * Migrates the database to this version, and returns the names of the applied parts: missing
 * migrations, and all functions unless they are up to date. Several processes may call this at the
 * same time.
 *
 * All missing parts form one simple query, so Postgres applies all or nothing. The query first
 * locks `schema_migration`: only roles with rights on this table can lock it, while every role
 * could take an advisory lock. If another process holds the lock, or has changed the database since
 * the check, the query does nothing. Then `migrate` checks again, for up to ten minutes.
 *
 * `shards`: distributes the tables of a database with Citus, and runs the functions on its nodes. A
 * database that is distributed stays so without it.
 *
 * @throws {MigrationRefused} if a newer version has migrated the database, if an applied migration
 * has another text, or if the database lacks Citus.
 * @throws if a migration fails. The database then has no changes, except the tables in which
 * `migrate` takes notes.
 */
export const migrate = async (
  sql: Sql,
  migrations: readonly Migration[],
  { functions = readFunctions(), shards }: { functions?: Promise<Functions>; shards?: number | undefined } = {},
): Promise<string[]> => {
  const ours = await functions
  await retryOn(WHEN_BOTH_CREATE, async () => void (await sql.unsafe(NOTES)))
  return retryOn(WHEN_LOCKED_OR_CHANGED, () => migrateOnce(sql, { migrations, ours, shards }))
}

const NOTES = `
  create table if not exists schema_migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  );
  ${FUNCTIONS_TABLE}`

const CHANGED = 'FI001'
/**
 * unique_violation (in the catalogue), duplicate_table, and duplicate_object (the row type of the
 * table): two processes create the same table at the same time.
 */
const WHEN_BOTH_CREATE: readonly unknown[] = ['23505', '42P07', '42710']
/** lock_not_available, deadlock_detected, and CHANGED. */
const WHEN_LOCKED_OR_CHANGED: readonly unknown[] = ['55P03', '40P01', CHANGED]

const retryOn = async <T>(codes: readonly unknown[], step: () => Promise<T>): Promise<T> => {
  const until = performance.now() + LONGEST_WAIT_MS
  for (;;) {
    try {
      return await step()
    } catch (error) {
      const isListed = error instanceof Error && 'code' in error && codes.includes(error.code)
      if (!isListed || performance.now() > until) throw error
      await setTimeout(POLL_MS)
    }
  }
}

type MigrationPlan = { migrations: readonly Migration[]; ours: Functions; shards: number | undefined }

const migrateOnce = async (sql: Sql, { migrations, ours, shards }: MigrationPlan): Promise<string[]> => {
  const [{ state }] = await sql.unsafe<[{ state: string }]>(`select ${STATE} as state`)
  const done = await readApplied(sql)
  const refusal = reasonToRefuse(migrations, done)
  if (refusal !== undefined) throw new MigrationRefused(`${refusal.found} ${refusal.advice}`)
  const missing = migrations.filter(({ number }) => !done.some((applied) => applied.number === number))
  const distribution = await readDistribution(sql, shards)
  if (distribution === 'no-citus') throw new MigrationRefused(NO_CITUS)
  const isPlain = distribution === 'plain'
  const isToDistribute = distribution === 'to-do'
  const functions = await whatToApply(sql, ours, {
    isForced: isToDistribute,
    afterwards: isPlain ? '' : DISTRIBUTE_FUNCTIONS,
  })
  if (missing.length === 0 && functions === undefined) return []
  await sql.unsafe(`
    lock table schema_migration in exclusive mode nowait;
    do $check$ begin
      if (select ${STATE}) is distinct from '${state}' then
        raise exception using errcode = '${CHANGED}', message = 'Another process has migrated the database.';
      end if;
    end $check$;
    ${isPlain ? '' : BEGIN_DISTRIBUTED}
    ${missing.map(migrationText).join('\n')}
    ${isPlain ? '' : distributeTables(shards)}
    ${functions ?? ''}`)
  return [
    ...missing.map(({ name }) => name),
    ...(isToDistribute ? ['the distribution over the nodes of Citus'] : []),
    ...(functions === undefined ? [] : [`functions of ${ours.version}`]),
  ]
}

const NO_CITUS =
  'CITUS_SHARDS is set, but the database has no extension citus. Run `create extension citus` in it on every server, and add the nodes to the coordinator (docs/growing.md#citus); or unset CITUS_SHARDS.'

/** The state that decides what to apply. */
const STATE = `
  concat_ws(' ', (select count(*) from schema_migration), (select version || ' ' || checksum from schema_functions))`

const migrationText = (migration: Migration): string => `
  ${migration.text}
  ;insert into schema_migration (number, name, checksum)
  values (${migration.number}, '${migration.name}', '${checksumOf(migration)}');`

const checksumOf = ({ text }: Migration): string => createHash('sha256').update(text).digest('hex')

/** The migrations that a database notes as applied. */
export const readApplied = (sql: Sql): Promise<AppliedMigration[]> =>
  sql<AppliedMigration[]>`select number, name, checksum from schema_migration order by number`.execute()

/**
 * Why this version must not migrate a database that has applied the migrations `done`, and what to
 * do. Undefined if it may.
 */
export const reasonToRefuse = (
  migrations: readonly Migration[],
  done: readonly AppliedMigration[],
): { found: string; advice: string } | undefined => {
  const newest = done.at(-1)?.number ?? 0
  const known = migrations.at(-1)?.number ?? 0
  if (newest > known) {
    const found = `The database is at migration ${newest}, this version knows ${known}.`
    return { found, advice: 'Start a newer version.' }
  }
  const changed = migrations.find((migration) =>
    done.some(({ number, checksum }) => number === migration.number && checksum !== checksumOf(migration)),
  )
  if (changed === undefined) return undefined
  const found = `The text of migration ${changed.number} (${changed.name}) differs from the one that this database was made with.`
  return { found, advice: 'Restore the text of the release, and write changes as a new migration.' }
}

/**
 * True if the database has every migration of this version, and the functions of this or a newer
 * version.
 */
export const isMigrated = async (sql: Sql, migrations: readonly Migration[]): Promise<boolean> => {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_migration') is not null as exists`
  if (!found!.exists) return false
  const [row] = await sql<{ newest: number }[]>`select coalesce(max(number), 0) as newest from schema_migration`
  return row!.newest >= (migrations.at(-1)?.number ?? 0) && hasFunctions(sql, await readFunctions())
}

import { readdir, readFile } from 'node:fs/promises'
import { applyFunctions, hasFunctions, pauseStoring, readEdition, readFunctions } from './functions.ts'
import type { Sql } from './postgres.ts'

const DIRECTORY = new URL('./migrations/', import.meta.url)
/** A migration of several files has them numbered: 0021_1_identity.sql, 0021_2_records.sql. */
const NAME = /^(\d{4})_(?:\d_)?[a-z0-9-]+\.sql$/
/** Any fixed number: whoever migrates this database holds it. */
const MIGRATION_LOCK = 7_310_884_213
const LOCK_POLL_MS = 200
/** The release that brings any older database to the first of these migrations. */
export const RELEASE_BEFORE_BASELINE = '0.1'

/** `name` has the files that it consists of. */
export type Migration = { number: number; name: string; text: string }

/** A database that this version must leave alone; the message says what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused'
}

export const readMigrations = async (): Promise<Migration[]> => {
  const names = (await readdir(DIRECTORY)).filter((file) => file.endsWith('.sql')).toSorted()
  const misnamed = names.find((file) => !NAME.test(file))
  if (misnamed !== undefined) throw new Error(`${misnamed} is no name of a migration: 0001_lower-case.sql`)
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
 * Brings the database up to this version and returns the names of what was applied: numbered migrations, then all functions if
 * the database has others. Any number of processes may call it at once. A migration and the note that it ran are one simple
 * query, so Postgres applies both or neither; the functions are another.
 *
 * @throws {MigrationRefused} when the database was migrated by a newer version, or is older than the baseline.
 * @throws when a migration fails (it then left nothing behind).
 */
export const migrate = async (
  sql: Sql,
  migrations: readonly Migration[],
  functions = readFunctions(),
): Promise<string[]> => {
  // The driver, told to ask for no types, never hands over a connection that is only just being opened.
  await sql`select 1`
  const connection = await sql.reserve()
  try {
    // Waiting inside pg_advisory_lock would deadlock with a migration that builds an index concurrently.
    while (!(await connection<{ held: boolean }[]>`select pg_try_advisory_lock(${MIGRATION_LOCK}) as held`)[0]!.held) {
      await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS))
    }
    await connection`
      create table if not exists schema_migration (
        number integer primary key,
        name text not null,
        applied_at timestamptz not null default now()
      )`
    const done = await connection<{ number: number }[]>`select number from schema_migration`
    const refusal = reasonToRefuse(
      migrations,
      done.map(({ number }) => number),
    )
    if (refusal !== undefined) throw new MigrationRefused(`${refusal.found} ${refusal.advice}`)
    const missing = migrations.filter(({ number }) => !done.some((applied) => applied.number === number))
    if (missing.length > 0) await pauseStoring(connection)
    for (const { number, name, text } of missing) {
      await connection.unsafe(`${text}\n;insert into schema_migration (number, name) values (${number}, '${name}');`)
    }
    const applied = missing.map(({ name }) => name)
    const ours = await functions
    if (await applyFunctions(connection, ours)) applied.push(`functions, edition ${ours.edition}`)
    return applied
  } finally {
    await connection`select pg_advisory_unlock(${MIGRATION_LOCK})`.catch(() => {})
    connection.release()
  }
}

/** Why a database with these migrations is not for this version to migrate, and what to do. */
export const reasonToRefuse = (
  migrations: readonly Migration[],
  done: readonly number[],
): { found: string; advice: string } | undefined => {
  const newest = Math.max(0, ...done)
  const baseline = migrations[0]?.number ?? 0
  const known = migrations.at(-1)?.number ?? 0
  if (newest > known) {
    const found = `The database is at migration ${newest}, this version knows ${known}.`
    return { found, advice: 'Start a newer version.' }
  }
  if (newest > 0 && newest < baseline) {
    const found = `The database is at migration ${newest}, this version takes over from ${baseline}.`
    return { found, advice: `Migrate it with release ${RELEASE_BEFORE_BASELINE} first, then with this one.` }
  }
  return undefined
}

/** True when the database has every migration that this version knows, and its functions or those of a newer one. */
export const isMigrated = async (sql: Sql, migrations: readonly Migration[]): Promise<boolean> => {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_migration') is not null as exists`
  if (!found!.exists) return false
  const [row] = await sql<{ newest: number }[]>`select coalesce(max(number), 0) as newest from schema_migration`
  return row!.newest >= (migrations.at(-1)?.number ?? 0) && hasFunctions(sql, await readEdition())
}

import { readdir, readFile } from 'node:fs/promises'
import type { Sql } from './postgres.ts'

const DIRECTORY = new URL('./migrations/', import.meta.url)
const NAME = /^(\d{4})_([a-z0-9-]+)\.sql$/
/** Any fixed number: whoever migrates this database holds it. */
const MIGRATION_LOCK = 7_310_884_213
const LOCK_POLL_MS = 200

export type Migration = { number: number; name: string; text: string }

export const readMigrations = async (): Promise<Migration[]> => {
  const names = (await readdir(DIRECTORY)).filter((file) => file.endsWith('.sql')).toSorted()
  const misnamed = names.find((file) => !NAME.test(file))
  if (misnamed !== undefined) throw new Error(`${misnamed} is no name of a migration: 0001_lower-case.sql`)
  return Promise.all(
    names.map(async (name) => ({
      number: Number(NAME.exec(name)![1]),
      name,
      text: await readFile(new URL(name, DIRECTORY), 'utf8'),
    })),
  )
}

/**
 * Brings the database up to this version and returns the names of what was applied. Any number of processes may call it at
 * once. A migration and the note that it ran are one simple query, so Postgres applies both or neither.
 *
 * @throws when the database was migrated by a newer version, or a migration fails (it then left nothing behind).
 */
export const migrate = async (sql: Sql, migrations: readonly Migration[]): Promise<string[]> => {
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
    const newest = Math.max(0, ...done.map(({ number }) => number))
    const known = migrations.at(-1)?.number ?? 0
    if (newest > known) {
      throw new Error(`The database is at migration ${newest}, this version knows ${known}. Start a newer version.`)
    }
    const missing = migrations.filter(({ number }) => !done.some((applied) => applied.number === number))
    for (const { number, name, text } of missing) {
      await connection.unsafe(`${text}\n;insert into schema_migration (number, name) values (${number}, '${name}');`)
    }
    return missing.map(({ name }) => name)
  } finally {
    await connection`select pg_advisory_unlock(${MIGRATION_LOCK})`.catch(() => {})
    connection.release()
  }
}

/** True when every migration that this version knows has been applied. */
export const isMigrated = async (sql: Sql, migrations: readonly Migration[]): Promise<boolean> => {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_migration') is not null as exists`
  if (!found!.exists) return false
  const [row] = await sql<{ newest: number }[]>`select coalesce(max(number), 0) as newest from schema_migration`
  return row!.newest >= (migrations.at(-1)?.number ?? 0)
}

import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import * as v from 'valibot'
import type { Sql } from './postgres.ts'

const DIRECTORY = new URL('./functions/', import.meta.url)
const EDITION = new URL('edition.json', DIRECTORY)
/** What functions are declared with has to be there, and what is retired can only go when nothing that is left needs it. */
const FIRST = 'types.sql'
const LAST = 'retired.sql'

const edition = v.object({ edition: v.pipe(v.number(), v.safeInteger()), checksum: v.string() })

/** Which functions a version has. Of two editions the greater is the newer one. */
export type Edition = v.InferOutput<typeof edition>
/** `retired`: the statements that drop what former versions had. */
export type Functions = Edition & { text: string; retired: string }

/** As `npm run schema` has written it; reads no function. */
export const readEdition = async (): Promise<Edition> => v.parse(edition, JSON.parse(await readFile(EDITION, 'utf8')))

/** All files of db/functions in the order in which they are applied. */
export const readFunctions = async (): Promise<Functions> => {
  const names = (await readdir(DIRECTORY)).filter((file) => file.endsWith('.sql'))
  const others = names.filter((name) => name !== FIRST && name !== LAST).toSorted()
  const read = (name: string): Promise<string> => readFile(new URL(name, DIRECTORY), 'utf8')
  const texts = await Promise.all([FIRST, ...others].map(read))
  return { ...(await readEdition()), text: texts.join('\n'), retired: await read(LAST) }
}

export const checksumOf = ({ text, retired }: Pick<Functions, 'text' | 'retired'>): string =>
  createHash('sha256').update(`${text}\n${retired}`).digest('hex')

/** Counts the edition up if the files are others than those that it is of. */
export const writeEdition = async (): Promise<void> => {
  const functions = await readFunctions()
  const checksum = checksumOf(functions)
  if (checksum === functions.checksum) return
  const next: Edition = { edition: functions.edition + 1, checksum }
  await writeFile(EDITION, `${JSON.stringify(next, undefined, 2)}\n`)
}

/**
 * Applies all functions in one transaction if the database has others: of an older edition, or edited by hand since. Those of a
 * newer edition stay, and so an older version that comes back goes on with them. What is retired is dropped when every statement has
 * ended that may have begun with it: one that waits for a workspace's lock learns of other functions only later. Returns whether
 * anything was applied. Callers hold the lock of migrations.
 */
export const applyFunctions = async (
  sql: Sql,
  { edition: ours, checksum, text, retired }: Functions,
): Promise<boolean> => {
  await sql`
    create table if not exists schema_functions (
      id boolean primary key default true check (id),
      edition integer not null,
      checksum text not null,
      catalogue text not null
    )`
  const [held] = await sql<{ edition: number; checksum: string; isUntouched: boolean }[]>`
    select edition, checksum, catalogue = (${sql.unsafe(CATALOGUE)}) as "isUntouched" from schema_functions`
  if (held && held.edition > ours) return false
  if (held?.edition === ours && held.checksum === checksum && held.isUntouched) return false
  const [served] = await sql<{ exists: boolean }[]>`select to_regproc('store') is not null as exists`
  await sql.unsafe(`set local check_function_bodies = off; ${text}`)
  if (served!.exists) await untilOthersHaveEnded(sql)
  await sql.unsafe(`
    ${retired}
    insert into schema_functions (edition, checksum, catalogue) values (${ours}, '${checksum}', (${CATALOGUE}))
    on conflict (id) do update set edition = excluded.edition, checksum = excluded.checksum, catalogue = excluded.catalogue;`)
  return true
}

/**
 * Until functions are applied again, whoever is to store something is told that the database is not there yet, and tries again. Functions
 * of former versions name columns by their place, and would fail for good while a table has other ones. Returns when nobody stores any more.
 */
export const pauseStoring = async (sql: Sql): Promise<void> => {
  const paused = await sql.unsafe<{ statement: string }[]>(`
    select format('create or replace function %I(%s) returns %s language plpgsql as %L',
      proname, pg_get_function_arguments(oid), pg_get_function_result(oid),
      'begin raise exception using errcode = ''57P03'', message = ''The tables are being changed.''; end') as statement
    from pg_proc where pronamespace = current_schema()::regnamespace and proname in ('store', 'store_free')`)
  if (paused.length === 0) return
  await sql.unsafe(paused.map(({ statement }) => statement).join(';'))
  await untilOthersHaveEnded(sql)
}

/** Whoever takes longer is none of ours: Postgres cancels our statements by then. */
const LONGEST_WAIT_MS = 75_000
const WAIT_POLL_MS = 10

/** Waits until what other connections to this database have begun has ended. */
const untilOthersHaveEnded = async (sql: Sql): Promise<void> => {
  const underWay = async (): Promise<string[]> => {
    const rows = await sql<{ transaction: string }[]>`
      select l.virtualtransaction as transaction
      from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
      where l.locktype = 'virtualxid' and l.granted and a.datname = current_database() and a.pid <> pg_backend_pid()`
    return rows.map(({ transaction }) => transaction)
  }
  const until = Date.now() + LONGEST_WAIT_MS
  let others = await underWay()
  while (others.length > 0 && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, WAIT_POLL_MS))
    const still = new Set(await underWay())
    others = others.filter((one) => still.has(one))
  }
}

/** Every function of the schema as it is by now. */
const CATALOGUE = `
  select md5(string_agg(pg_get_functiondef(oid), '' order by proname, pg_get_function_identity_arguments(oid)))
  from pg_proc where pronamespace = current_schema()::regnamespace and prokind in ('f', 'p')`

/** Whether the functions are those of this edition, or of a newer one. */
export const hasFunctions = async (sql: Sql, { edition: ours, checksum }: Edition): Promise<boolean> => {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_functions') is not null as exists`
  if (!found!.exists) return false
  const [held] = await sql<Edition[]>`select edition, checksum from schema_functions`
  return held !== undefined && (held.edition > ours || (held.edition === ours && held.checksum === checksum))
}

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import * as v from 'valibot'
import type { Sql } from '../connection/postgres.ts'

const DIRECTORY = new URL('../functions/', import.meta.url)
const PACKAGE = new URL('../../package.json', import.meta.url)

const manifest = v.object({ version: v.pipe(v.string(), v.regex(/^\d+\.\d+\.\d+$/)) })

/** All functions of a release: their text, its checksum, and the version of the package. */
export type Functions = { version: string; checksum: string; text: string }

/** Reads all files of db/functions. */
export const readFunctions = async (): Promise<Functions> => {
  const names = (await readdir(DIRECTORY)).filter((file) => file.endsWith('.sql')).toSorted()
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, DIRECTORY), 'utf8')))
  const { version } = v.parse(manifest, JSON.parse(await readFile(PACKAGE, 'utf8')))
  const text = texts.join('\n')
  return { version, checksum: createHash('sha256').update(text).digest('hex'), text }
}

/**
 * The table whose one row says which functions a database has. `catalogue`: the result of the query
 * `CATALOGUE` after these functions were applied.
 */
export const FUNCTIONS_TABLE = `
  create table if not exists schema_functions (
    id boolean primary key default true check (id),
    version text not null,
    checksum text not null,
    catalogue text not null
  );`

/** A query for a hash of the current definitions of all functions in the schema. */
const CATALOGUE = `
  select coalesce(md5(string_agg(pg_get_functiondef(oid), '' order by proname, pg_get_function_identity_arguments(oid))), '')
  from pg_proc where pronamespace = current_schema()::regnamespace and prokind in ('f', 'p')`

type Noted = { version: string; checksum: string; isUntouched: boolean }

/**
 * The statements that apply the functions of this release, also if functions were edited or dropped
 * by hand, and then those of `afterwards`. Undefined if the database has these functions, or those
 * of a newer release: an older release that comes back uses the newer functions. `isForced`: apply
 * them all the same.
 */
export const whatToApply = async (
  sql: Sql,
  ours: Functions,
  { isForced, afterwards }: { isForced: boolean; afterwards: string },
): Promise<string | undefined> => {
  const [noted] = await sql.unsafe<Noted[]>(
    `select version, checksum, catalogue = (${CATALOGUE}) as "isUntouched" from schema_functions`,
  )
  if (noted !== undefined && isNewer(noted.version, ours.version)) return undefined
  const hasOurs = noted?.version === ours.version && noted.checksum === ours.checksum && noted.isUntouched
  if (hasOurs && !isForced) return undefined
  return `
    set local check_function_bodies = off;
    ${ours.text}
    ${afterwards}
    insert into schema_functions (version, checksum, catalogue)
    values ('${ours.version}', '${ours.checksum}', (${CATALOGUE}))
    on conflict (id) do update set
      version = excluded.version, checksum = excluded.checksum, catalogue = excluded.catalogue;`
}

/** Whether the database has the functions of this release, or those of a newer one. */
export const hasFunctions = async (sql: Sql, ours: Functions): Promise<boolean> => {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_functions') is not null as exists`
  if (!found!.exists) return false
  const [noted] = await sql<Omit<Noted, 'isUntouched'>[]>`select version, checksum from schema_functions`
  return noted !== undefined && (noted.checksum === ours.checksum || isNewer(noted.version, ours.version))
}

const isNewer = (version: string, other: string): boolean => {
  const [a, b] = [version.split('.').map(Number), other.split('.').map(Number)]
  const differing = a.findIndex((part, at) => part !== b[at])
  return differing !== -1 && a[differing]! > b[differing]!
}

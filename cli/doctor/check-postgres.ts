import type { HashKey } from '../../contract/identity/keys.ts'
import { findBlockers } from '../../db/connection/blockers.ts'
import { hasFunctions, readFunctions } from '../../db/schema/functions.ts'
import { isMadeWith } from '../../db/schema/installation.ts'
import { type Migration, readApplied, reasonToRefuse } from '../../db/schema/migrate.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { listTokens, type Scope } from '../../db/tokens.ts'
import { checkTimes } from './check-times.ts'
import { count, when } from '../../health/finding.ts'
import { type Checked, judgeClock, warning, well, wrong } from './finding.ts'

/** The oldest tested version. */
const OLDEST_MAJOR = 15
const NEARLY_ALL = 0.9

/** Findings about Postgres itself and about the stored data. */
export const checkPostgres = async (
  sql: Sql,
  hashKey: HashKey | undefined,
  migrations: readonly Migration[],
): Promise<Checked[]> => {
  const migrated = await checkMigrations(sql, migrations)
  return [
    ...(await checkServer(sql)),
    await checkClock(sql),
    ...(await checkBlockers(sql)),
    migrated,
    // Before the migration the tables of the further checks may not exist.
    ...(migrated.level === 'well'
      ? [
          ...(hashKey ? [await checkHashKey(sql, hashKey)] : []),
          ...(await checkTokens(sql)),
          await checkDead(sql),
          ...(await checkTimes(sql)),
        ]
      : []),
  ]
}

const checkServer = async (sql: Sql): Promise<Checked[]> => {
  const [row] = await sql<{ version: string; major: number; fsync: string; most: number; used: number }[]>`
    select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
      current_setting('fsync') as fsync, current_setting('max_connections')::int as most,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used`
  const { version, major, fsync, most, used } = row!
  return [
    major < OLDEST_MAJOR
      ? wrong(`Postgres is ${version}.`, `Use Postgres ${OLDEST_MAJOR} or newer.`)
      : well(`Postgres ${version} answers.`),
    ...when(
      fsync === 'off',
      wrong('Postgres has fsync off: a crash can destroy the database.', 'Set fsync = on in postgresql.conf.'),
    ),
    used >= NEARLY_ALL * most
      ? warning(
          `${used} of ${most} connections of Postgres are in use.`,
          'Lower DATABASE_CONNECTIONS, run fewer processes, or raise max_connections.',
        )
      : well(`${used} of ${most} connections of Postgres are in use.`),
  ]
}

const checkClock = async (sql: Sql): Promise<Checked> => {
  const askedMs = Date.now()
  const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`
  return judgeClock('Postgres', { serverMs: row!.ms, askedMs, answeredMs: Date.now() })
}

export const checkBlockers = async (sql: Sql): Promise<Checked[]> =>
  (await findBlockers(sql)).map(({ pid, role, program, waiting, seconds }) =>
    warning(
      `The session ${pid} of role ${role}${program === '' ? '' : ` (${program})`} holds locks for which ${count(waiting, 'statement of the service has', 'statements of the service have')} waited for up to ${seconds} s.`,
      `End its transaction, or the session: select pg_terminate_backend(${pid})`,
    ),
  )

const checkMigrations = async (sql: Sql, migrations: readonly Migration[]): Promise<Checked> => {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_migration') is not null as exists`
  if (!found!.exists) return wrong('The database is empty.', 'Run: npm run migrate')
  const done = await readApplied(sql)
  const applied = new Set(done.map(({ number }) => number))
  const missing = migrations.filter(({ number }) => !applied.has(number))
  const refusal = reasonToRefuse(migrations, done)
  if (refusal !== undefined) return wrong(refusal.found, refusal.advice)
  if (missing.length > 0) {
    return wrong(`Migrations are missing: ${missing.map(({ name }) => name).join(', ')}.`, 'Run: npm run migrate')
  }
  return (await hasFunctions(sql, await readFunctions()))
    ? well(`The database is migrated (${done.at(-1)?.number ?? 0}).`)
    : wrong('The functions of the database are not those of this version.', 'Run: npm run migrate')
}

const checkHashKey = async (sql: Sql, hashKey: HashKey): Promise<Checked> => {
  const isSame = await isMadeWith(sql, hashKey)
  if (isSame === undefined)
    return well('The database has no HASH_KEY yet; the first start of the API or a worker sets it.')
  return isSame
    ? well('HASH_KEY is the one of this database.')
    : wrong(
        'HASH_KEY is not the one that this database was made with: keys would get other ids.',
        'Set the key of this database, from hash.key in DATA_DIR or from your store of secrets.',
      )
}

const checkTokens = async (sql: Sql): Promise<Checked[]> => {
  const now = Date.now()
  const live = (await listTokens(sql)).filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt.getTime() > now),
  )
  const holding = (...scopes: Scope[]): number =>
    live.filter((token) => token.scopes.some((scope) => scopes.includes(scope))).length
  const counts = { submit: holding('submit', 'admin'), admin: holding('admin'), operator: holding('operator') }
  const text = `Live tokens: ${counts.submit} may submit, ${counts.admin} purge, ${counts.operator} operate.`
  if (counts.submit > 0) return [well(text)]
  return [warning(text, 'No token can submit. Run: npm run token -- create --workspace NAME --scope submit')]
}

const checkDead = async (sql: Sql): Promise<Checked> => {
  const [row] = await sql<{ dead: number; newest: Date | null }[]>`
    select count(*)::int as dead, max(died_at) as newest from dead_submission where replayed_at is null`
  const { dead, newest } = row!
  if (dead === 0) return well('No submission is dead.')
  return warning(
    `${count(dead, 'submission is', 'submissions are')} dead, the newest since ${newest!.toISOString()}.`,
    'See the reasons: npm run dead -- list. Each dead submission shows a fault of this service: please report it.',
  )
}

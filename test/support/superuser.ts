import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'

const STATEMENT_TIMEOUT_MS = 60_000

/** Turns the owner's connection string for an embedded PostgreSQL into that of its superuser. */
export const superuserUrl = (dataDir: string, ownerUrl: string): string => {
  const url = new URL(ownerUrl)
  url.username = 'postgres'
  url.password = readFileSync(join(dataDir, 'superuser-password'), 'utf8').trim()
  return url.href
}

/** Does the work on one connection of the superuser. */
export const asSuperuser = async <T>(dataDir: string, ownerUrl: string, work: (sql: Sql) => Promise<T>): Promise<T> => {
  const options = { connections: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS, applicationName: 'test' }
  const sql = connectPostgres(superuserUrl(dataDir, ownerUrl), options)
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * Rights that tests and benchmarks need in addition to the service: to count calls, to restore like
 * pg_restore, to checkpoint.
 */
const GRANTS = [
  'set on parameter track_functions',
  'set on parameter session_replication_role',
  'pg_checkpoint',
] as const

/** Grants these rights to the owner of the database. */
export const grantForTests = (dataDir: string, ownerUrl: string): Promise<void> =>
  asSuperuser(dataDir, ownerUrl, async (sql) => {
    for (const grant of GRANTS) await sql.unsafe(`grant ${grant} to ${new URL(ownerUrl).username}`)
  })

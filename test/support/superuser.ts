import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectPostgres } from '../../db/connection/postgres.ts'

/**
 * The connection string of the superuser of an embedded PostgreSQL, whose own string is for the
 * owner.
 */
export const superuserUrl = (dataDir: string, ownerUrl: string): string => {
  const url = new URL(ownerUrl)
  url.username = 'postgres'
  url.password = readFileSync(join(dataDir, 'superuser-password'), 'utf8').trim()
  return url.href
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
export const grantForTests = async (dataDir: string, ownerUrl: string): Promise<void> => {
  const options = { connections: 1, statementTimeoutMs: 10_000, applicationName: 'test' }
  const sql = connectPostgres(superuserUrl(dataDir, ownerUrl), options)
  try {
    for (const grant of GRANTS) await sql.unsafe(`grant ${grant} to ${new URL(ownerUrl).username}`)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

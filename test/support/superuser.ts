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

/** Grants the right to checkpoint to the owner of the database. */
export const grantCheckpoint = async (dataDir: string, ownerUrl: string): Promise<void> => {
  await asSuperuser(dataDir, ownerUrl, (sql) => sql.unsafe(`grant pg_checkpoint to ${new URL(ownerUrl).username}`))
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { startPostgres } from './start/embedded/postgres-server.ts'
import { writeEdition } from '../db/functions.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { connectPostgres } from '../db/postgres.ts'
import { schemaText } from '../db/schema-text.ts'

const USAGE = `usage: npm run schema
Writes db/schema.sql, the tables that all migrations come to, taken from an empty PostgreSQL of its own, and counts up
db/functions/edition.json if functions have changed.`

const STATEMENT_TIMEOUT_MS = 60_000

const { help } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values

const write = async (): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'feedback-insights-schema-'))
  await using ends = new AsyncDisposableStack()
  ends.defer(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  const server = await startPostgres({ dataDir })
  ends.defer(server.stop)
  const options = { connections: 2, statementTimeoutMs: STATEMENT_TIMEOUT_MS, applicationName: 'schema' }
  const sql = connectPostgres(server.url, options)
  ends.defer(() => sql.end({ timeout: 5 }))
  await writeEdition()
  await migrate(sql, await readMigrations())
  writeFileSync(new URL('../db/schema.sql', import.meta.url), await schemaText(sql))
}

if (help === true) process.stdout.write(`${USAGE}\n`)
else await write()

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { startPostgres } from './embedded/postgres-server.ts'
import { writeEdition } from './functions.ts'
import { migrate, readMigrations } from './migrate.ts'
import { connectPostgres } from './postgres.ts'
import { schemaText } from './schema-text.ts'

const USAGE = `usage: npm run schema
Writes db/schema.sql, the tables that all migrations come to, taken from an empty PostgreSQL of its own, and counts up
db/functions/edition.json if functions have changed.`

const STATEMENT_TIMEOUT_MS = 60_000

const { help } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values
if (help === true) process.stdout.write(`${USAGE}\n`)
else await write()

async function write(): Promise<void> {
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
  writeFileSync(new URL('./schema.sql', import.meta.url), await schemaText(sql))
}

import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Authority, Certificate } from './certificates.ts'
import { until } from './until.ts'
import { runCommand } from './command.ts'
import { startProcess } from './service-process.ts'

/**
 * Makes a Postgres server accept TLS. `directory` is its cluster, and `sql` a connection of its
 * superuser.
 */
export const servePostgresByTls = async (
  sql: Sql,
  directory: string,
  { certificate, key }: Certificate,
): Promise<void> => {
  const keyFile = join(directory, 'server.key')
  writeFileSync(join(directory, 'server.crt'), certificate)
  writeFileSync(keyFile, key, { mode: 0o600 })
  // Postgres requires that only its own user may read the key.
  const { uid, gid } = statSync(directory)
  chownSync(keyFile, uid, gid)
  await sql`alter system set ssl = on`
  await sql`select pg_reload_conf()`
  await until('the settings are reloaded', async () => (await sql`show ssl`)[0]!['ssl'] === 'on')
}

/**
 * Returns the settings with which a Redis or a sentinel uses TLS with clients and other servers.
 * Writes their files into `directory`.
 */
export const redisTlsSettings = (
  directory: string,
  { name = '127.0.0.1', port, authority }: { name?: string; port: number; authority: Authority },
): string[] => {
  const { certificate, key } = authority.issueFor(name)
  const files = { 'cert-file': certificate, 'key-file': key, 'ca-cert-file': authority.certificate }
  for (const [file, content] of Object.entries(files)) writeFileSync(join(directory, file), content, { mode: 0o600 })
  return [
    `tls-port ${port}`,
    ...Object.keys(files).map((file) => `tls-${file} ${join(directory, file)}`),
    'tls-auth-clients no',
    'tls-replication yes',
  ]
}

export type TlsService = {
  /** Resolves once a feedback is accepted and applied. */
  readonly applies: () => Promise<void>
  readonly stop: () => Promise<unknown>
}

const ACCESS_TOKEN = 'access-token-for-tls'

/**
 * Migrates the database, and starts an API and a worker that trust an authority. `servers`: the
 * addresses, as variables.
 */
export const startTlsService = async (
  servers: Readonly<Record<string, string>>,
  authorityFile: string,
): Promise<TlsService> => {
  const environment = {
    ...servers,
    HASH_KEY: randomBytes(32).toString('hex'),
    BOOTSTRAP_ACCESS_TOKEN: ACCESS_TOKEN,
    PORT: '0',
    WORKER_PORT: '0',
    NODE_EXTRA_CA_CERTS: authorityFile,
  }
  const migrated = await runCommand({ environment }, 'cli/migrate-command.ts')
  assert.equal(migrated.code, 0, migrated.stderr)
  const api = await startProcess('api/main.ts', 'listening', environment)
  const worker = await startProcess('worker/main.ts', 'working', environment)
  const applies = async (): Promise<void> => {
    let answer = ''
    const isApplied = async () => {
      answer = await submit(api.port)
      return answer === '201 applied'
    }
    await until('a feedback is applied', isApplied).catch((error: unknown) => {
      console.error(`The last answer: ${answer}\nThe API:\n${api.output()}\nThe worker:\n${worker.output()}`)
      throw error
    })
  }
  return {
    applies,
    stop: () => Promise.all([api.stop(), worker.stop()]),
  }
}

/** Submits a feedback. Returns the status of the answer, and the state of the submission. */
const submit = async (port: number): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/feedbacks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ACCESS_TOKEN}`, 'Content-Type': 'application/json', Prefer: 'wait=20' },
    body: JSON.stringify({ description: 'x' }),
  })
  const text = await answer.text()
  return `${answer.status} ${answer.headers.get('Submission-State') ?? text}`
}

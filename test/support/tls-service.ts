import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { runCommand } from './command.ts'
import { startProcess } from './service-process.ts'
import { until } from './until.ts'

export type TlsService = {
  /** Resolves once a feedback is accepted and applied. */
  readonly applies: () => Promise<unknown>
  readonly stop: () => Promise<unknown>
}

const ACCESS_TOKEN = 'access-token-for-tls'
const APPLIED_WITHIN_MS = 120_000

/** An API and a worker that trust an authority, with the servers of the environment. */
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
  return {
    applies: () => until('a feedback is applied', () => isApplied(api.port), APPLIED_WITHIN_MS),
    stop: () => Promise.all([api.stop(), worker.stop()]),
  }
}

const isApplied = async (port: number): Promise<boolean> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/feedbacks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ACCESS_TOKEN}`, 'Content-Type': 'application/json', Prefer: 'wait=20' },
    body: JSON.stringify({ description: 'x' }),
  })
  await answer.arrayBuffer()
  return answer.status === 201 && answer.headers.get('Submission-State') === 'applied'
}

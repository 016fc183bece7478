import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { findFreePort, isPortFree } from '../../cli/start/embedded/free-port.ts'
import { until } from './until.ts'

export const hasPgbouncer = (): boolean => spawnSync('sh', ['-c', 'command -v pgbouncer']).status === 0

export type Pooler = { readonly url: string; readonly stop: () => Promise<void> }

/**
 * PgBouncer in transaction mode before a server, with fewer connections than its clients. Each
 * begins in this schema.
 */
export const startPgbouncer = async (databaseUrl: string, schema: string): Promise<Pooler> => {
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl)
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-pooler-'))
  // PgBouncer changes from root to another user before it reads its files.
  chmodSync(directory, 0o755)
  const port = await findFreePort()
  const users = join(directory, 'users')
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  const file = join(directory, 'pgbouncer.ini')
  const database = `host=${hostname} port=${serverPort} dbname=${pathname.slice(1)}`
  const lines = [
    '[databases]',
    `pooled = ${database} connect_query='set search_path = ${schema}'`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    'default_pool_size = 4',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', ['-q', ...asOther, file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  await until('the pooler listens', async () => !(await isPortFree(port)))
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${port}/pooled`,
    stop: async () => {
      process.removeListener('exit', kill)
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

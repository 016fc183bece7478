import { spawn } from 'node:child_process'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptPassword } from './kept-secrets.ts'
import type { PostgresAccount } from './postgres-account.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { SERVER_ENVIRONMENT } from './server.ts'

export const POSTGRES_USER = 'postgres'
export const POSTGRES_DATABASE = 'feedback_insights'
const DATABASE_EXISTS = /database "\w+" already exists/

/** Everyone on this machine needs the password; there is no socket, so no line for `local`. */
const HOST_BASED_ACCESS = 'host all all 127.0.0.1/32 scram-sha-256\n'

type ClusterOptions = {
  readonly dataDir: string
  readonly binaries: PostgresBinaries
  readonly account: PostgresAccount
  readonly log?: ((line: string) => void) | undefined
}

/** The database cluster below `dataDir`, which the first call makes, and the password of its superuser. */
export const ensureCluster = async (options: ClusterOptions): Promise<{ cluster: string; password: string }> => {
  const { dataDir } = options
  const cluster = join(dataDir, 'cluster')
  const passwordLost = !existsSync(join(dataDir, 'password'))
  const password = keptPassword(dataDir)
  if (!existsSync(cluster)) await createCluster({ ...options, cluster, password })
  else if (passwordLost) await prepare({ ...options, cluster, password })
  return { cluster, password }
}

/** Makes the cluster under another name first: a start that is killed half-way leaves nothing that looks finished. */
const createCluster = async (options: ClusterOptions & { cluster: string; password: string }): Promise<void> => {
  options.log?.('Making the PostgreSQL database …')
  const draft = `${options.cluster}.draft`
  rmSync(draft, { recursive: true, force: true })
  await run(options, [
    options.binaries.initdb,
    `--pgdata=${draft}`,
    `--username=${POSTGRES_USER}`,
    // The access file below replaces this. initdb would take a password from a file, which it may not be able to read.
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    // Upper and lower case of all letters, the same on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ])
  await prepare({ ...options, cluster: draft })
  renameSync(draft, options.cluster)
}

const prepare = async (options: ClusterOptions & { cluster: string; password: string }): Promise<void> => {
  writeFileSync(join(options.cluster, 'pg_hba.conf'), HOST_BASED_ACCESS)
  const single = [options.binaries.postgres, '--single', '-D', options.cluster, '-c', 'log_min_messages=fatal']
  const statements = `alter role ${POSTGRES_USER} password '${options.password}'\ncreate database ${POSTGRES_DATABASE}\n`
  const output = await run(options, [...single, 'postgres'], statements)
  const failures = output
    .split('\n')
    .filter((line) => /\b(ERROR|FATAL|PANIC):/.test(line) && !DATABASE_EXISTS.test(line))
  if (failures.length > 0) throw new Error(`cannot prepare ${options.cluster}: ${failures.join(' ')}`)
}

const run = ({ account }: ClusterOptions, command: readonly string[], input = ''): Promise<string> => {
  const [program = '', ...args] = [...account.prefix, ...command]
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: SERVER_ENVIRONMENT,
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe'],
      ...account.spawnAs,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    }
    child.once('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })))
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${command[0]} ended with ${code ?? signal}:\n${output.trimEnd()}`))
    })
    child.stdin.end(input)
  })
}

/**
 * Lets PostgreSQL start when another program now has the id in the lock file of a killed server: PostgreSQL would take that
 * program for the server. Only the id is replaced, by one that no process has: the file also names the old server's shared
 * memory, which tells PostgreSQL whether an orphan of that server is still writing.
 */
export const forgetDeadPostmaster = (cluster: string): void => {
  const noProcess = 2_147_483_646
  const file = join(cluster, 'postmaster.pid')
  if (!existsSync(file)) return
  const [, ...rest] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [noProcess, ...rest].join('\n'))
}

/** The eighth line of its lock file tells the state of PostgreSQL. */
export const isPostmasterReady = (cluster: string, pid: number): boolean => {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

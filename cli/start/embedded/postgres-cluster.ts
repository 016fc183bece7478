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

/** Scram with the password for everyone on this machine; there is no socket that `local` could apply to. */
const HOST_BASED_ACCESS = 'host all all 127.0.0.1/32 scram-sha-256\n'

type ClusterOptions = {
  readonly dataDir: string
  readonly binaries: PostgresBinaries
  readonly account: PostgresAccount
  readonly log?: ((line: string) => void) | undefined
}

/** The database cluster below `dataDir`, made by the first call, and the password of its superuser. */
export const ensureCluster = async (options: ClusterOptions): Promise<{ cluster: string; password: string }> => {
  const { dataDir } = options
  const cluster = join(dataDir, 'cluster')
  const passwordLost = !existsSync(join(dataDir, 'password'))
  const password = keptPassword(dataDir)
  if (!existsSync(cluster)) await createCluster({ ...options, cluster, password })
  else if (passwordLost) await prepare({ ...options, cluster, password })
  return { cluster, password }
}

/** Made under another name first: a start that is killed half-way leaves nothing that looks finished. */
const createCluster = async (options: ClusterOptions & { cluster: string; password: string }): Promise<void> => {
  options.log?.('Making the PostgreSQL database …')
  const draft = `${options.cluster}.draft`
  rmSync(draft, { recursive: true, force: true })
  await run(options, [
    options.binaries.initdb,
    `--pgdata=${draft}`,
    `--username=${POSTGRES_USER}`,
    // Only until the access file below replaces it: initdb would take the password from a file it may not be able to read.
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
 * Lets PostgreSQL start when the id in the lock file of a killed server now belongs to another program, which it would
 * take for that server. Only the id is replaced, by one that no process has: the file also leads PostgreSQL to the old
 * server's shared memory, by which it sees that no orphan of it is still writing.
 */
export const forgetDeadPostmaster = (cluster: string): void => {
  const noProcess = 2_147_483_646
  const file = join(cluster, 'postmaster.pid')
  if (!existsSync(file)) return
  const [, ...rest] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [noProcess, ...rest].join('\n'))
}

/** PostgreSQL writes its state into the eighth line of its lock file. */
export const isPostmasterReady = (cluster: string, pid: number): boolean => {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

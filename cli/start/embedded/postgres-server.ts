import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { signalOnParentDeath } from './end-process.ts'
import { chooseAccount } from './postgres-account.ts'
import { postgresBinaries } from './postgres-binaries.ts'
import { ensureCluster, forgetDeadPostmaster, isPostmasterReady } from './postgres-cluster.ts'
import { POSTGRES_DATABASE, POSTGRES_OWNER } from './postgres-roles.ts'
import { type EmbeddedServer, startServer } from './server.ts'

export type PostgresOptions = {
  /** Everything of this server goes below it: data, password, port, log. */
  readonly dataDir: string
  /** Left out: the port of the last start if it is free, else any. */
  readonly port?: number
  /** Further settings, each as `name=value`. */
  readonly settings?: readonly string[]
  /** Gets a line about each step that takes long. */
  readonly log?: (line: string) => void
}

/** Fast shutdown, then immediate shutdown, from which the next start recovers. */
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const

/**
 * Another start took the port, or orphans of a killed server still hold its shared memory: both end
 * by themselves.
 */
const PASSING_TROUBLE = /could not create any TCP\/IP sockets|shared memory block .* is still in use/

const SETTINGS: readonly string[] = [
  'listen_addresses=127.0.0.1',
  // A socket's path may have about 100 bytes, and the path of a data directory is easily longer.
  'unix_socket_directories=',
  'max_connections=200',
  'shared_buffers=128MB',
  'jit=off',
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_checkpoints=off',
  // Messages, details and statements of errors quote what people submitted: callers get them, the
  // log must not have them.
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_statement=none',
  'log_parameter_max_length_on_error=0',
]

/**
 * Starts PostgreSQL on 127.0.0.1, durable, with the data that `dataDir` has. Its connection string
 * is that of the owner of the database, who is no superuser; the superuser's password is beside the
 * data.
 */
export const startPostgres = async (options: PostgresOptions): Promise<EmbeddedServer> => {
  // The server and the programs that prepare it run in another directory.
  const dataDir = resolve(options.dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const { account, binaries } = chooseAccount(postgresBinaries(), dataDir)
  return startServer({
    name: 'PostgreSQL',
    logName: 'postgres.log',
    dataDir,
    wantedPort: options.port,
    stopSteps: STOP_STEPS,
    passingTrouble: PASSING_TROUBLE,
    prepare: async () => {
      const { cluster, passwords } = await ensureCluster({ dataDir, binaries, account, log: options.log })
      const { cwd, path } = account.place(cluster)
      return {
        urlAt: (port) => `postgres://${POSTGRES_OWNER}:${passwords.owner}@127.0.0.1:${port}/${POSTGRES_DATABASE}`,
        commandAt: (port) => {
          forgetDeadPostmaster(account, cluster)
          const settings = [`port=${port}`, ...SETTINGS, ...(options.settings ?? [])].flatMap((setting) => [
            '-c',
            setting,
          ])
          return [...account.prefix, ...signalOnParentDeath('SIGINT'), binaries.postgres, '-D', path, ...settings]
        },
        spawnAs: account.spawnAs,
        cwd,
        isReady: ({ pid }) => isPostmasterReady(cluster, pid),
      }
    },
  })
}

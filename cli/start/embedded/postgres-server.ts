import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { chooseAccount } from './postgres-account.ts'
import { postgresBinaries } from './postgres-binaries.ts'
import {
  ensureCluster,
  forgetDeadPostmaster,
  isPostmasterReady,
  POSTGRES_DATABASE,
  POSTGRES_OWNER,
} from './postgres-cluster.ts'
import { type EmbeddedServer, startServer } from './server.ts'
import { signalOnParentDeath } from './start-process.ts'

type EmbeddedPostgresOptions = {
  /** The folder for all files of the server: data, password, port, log. */
  readonly dataDir: string
  /** By default the port of the last start if it is free, else any free port. */
  readonly port?: number
  /** Further settings, each as `name=value`. */
  readonly settings?: readonly string[]
  /** Receives a line about each long step. */
  readonly log?: (line: string) => void
}

/** Fast shutdown, then immediate shutdown, from which the next start recovers. */
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const

/**
 * Another start took the port, or orphans of a killed server still hold its shared memory. Both
 * faults pass by themselves.
 */
const PASSING_TROUBLE = /could not create any TCP\/IP sockets|shared memory block .* is still in use/

const SETTINGS: readonly string[] = [
  'listen_addresses=127.0.0.1',
  // No socket: its path may have about 100 bytes, and the path of a data directory easily has more.
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
  // Errors stay out of the log, since their messages, details and statements quote submitted
  // content. The client gets the errors.
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_statement=none',
  'log_parameter_max_length_on_error=0',
]

/**
 * Starts PostgreSQL on 127.0.0.1, durable, with the data in `dataDir`. Its connection string is for
 * the owner of the database, who is not a superuser. The superuser's password is beside the data.
 */
export const startPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedServer> => {
  // The path must be absolute, since the programs of PostgreSQL run in another directory.
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
          // A change of the user clears the signal, so the account's words stand first.
          return [...account.prefix, ...signalOnParentDeath('SIGINT'), binaries.postgres, '-D', path, ...settings]
        },
        spawnAs: account.spawnAs,
        cwd,
        isReady: ({ pid }) => isPostmasterReady(cluster, pid),
      }
    },
  })
}

import { join, resolve } from 'node:path'
import { choosePort } from './kept-port.ts'
import { endLeftover } from './pid-file.ts'
import { signalOnParentDeath } from './parent-death.ts'
import { postgresAccount } from './postgres-account.ts'
import { postgresBinaries } from './postgres-binaries.ts'
import {
  ensureCluster,
  forgetDeadPostmaster,
  isPostmasterReady,
  POSTGRES_DATABASE,
  POSTGRES_USER,
} from './postgres-cluster.ts'
import { rotateLog } from './rotate-log.ts'
import type { EmbeddedServer } from './server.ts'
import { startServerProcess } from './server-process.ts'
import { startUntilReady } from './start-until-ready.ts'

export type PostgresOptions = {
  /** Everything of this server goes below it: data, password, port, log. */
  readonly dataDir: string
  /** Left out: the port of the last start if it is free, else any. */
  readonly port?: number
  /** Told, in one line, what takes long. */
  readonly log?: (line: string) => void
}

/** Fast shutdown, then the immediate one, which recovery repairs at the next start. */
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const

/** Replaying the log after a crash may take its time. */
const READY_WITHIN_MS = 120_000

/** Another start took the port, or the orphans of a killed server still hold its shared memory: both pass. */
const PASSING_TROUBLE = /could not create any TCP\/IP sockets|shared memory block .* is still in use/

const SETTINGS: readonly string[] = [
  'listen_addresses=127.0.0.1',
  // A socket's path may have about 100 bytes, which a data directory easily exceeds.
  'unix_socket_directories=',
  'max_connections=100',
  'shared_buffers=128MB',
  'jit=off',
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_checkpoints=off',
  // Messages, details and statements of errors quote what people submitted; the callers get them, the log must not.
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_statement=none',
  'log_parameter_max_length_on_error=0',
]

/** Starts PostgreSQL on 127.0.0.1, durable, with what it had before; ends a server that was left behind in `dataDir`. */
export const startPostgres = async (options: PostgresOptions): Promise<EmbeddedServer> => {
  const { log } = options
  // The server and the programs that prepare it run in another directory.
  const dataDir = resolve(options.dataDir)
  const binaries = postgresBinaries()
  const account = postgresAccount(binaries, dataDir)
  const logFile = join(dataDir, 'postgres.log')
  const pidFile = join(dataDir, 'pid')

  await endLeftover(pidFile, STOP_STEPS)
  rotateLog(logFile)
  const { cluster, password } = await ensureCluster({ dataDir, binaries, account, log })

  let port = 0
  const server = await startUntilReady({
    name: 'PostgreSQL',
    start: async () => {
      port = await choosePort(join(dataDir, 'port'), options.port)
      forgetDeadPostmaster(cluster)
      const arguments_ = ['-D', cluster, '-c', `port=${port}`, ...SETTINGS.flatMap((setting) => ['-c', setting])]
      return startServerProcess({
        command: [...account.prefix, ...signalOnParentDeath('SIGINT'), binaries.postgres, ...arguments_],
        logFile,
        pidFile,
        stopSteps: STOP_STEPS,
        spawnAs: account.spawnAs,
      })
    },
    isReady: ({ pid }) => isPostmasterReady(cluster, pid),
    readyWithinMs: READY_WITHIN_MS,
    logFile,
    passingTrouble: PASSING_TROUBLE,
  })
  const url = `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/${POSTGRES_DATABASE}`
  return { url, port, pid: server.pid, exited: server.exited, stop: server.stop }
}

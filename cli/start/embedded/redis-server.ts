import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { explainDamage } from './damaged-file.ts'
import { keptPassword } from './kept-secrets.ts'
import { redisBinary } from './redis-binary.ts'
import { type EmbeddedServer, startServer } from './server.ts'
import { signalOnParentDeath } from './start-process.ts'
import { syncEachSecond } from './sync-append-only-file.ts'

export type AppendFsync = 'always' | 'no'

export type RedisOptions = {
  /** The folder for all files of the server: data, password, port, log. */
  readonly dataDir: string
  /** By default the port of the last start if it is free, else any free port. */
  readonly port?: number
  readonly maxMemoryBytes?: number
  /** With `no`, the default, this program syncs once a second, and a loss of power can cost a second. */
  readonly appendFsync?: AppendFsync
  /** Further lines of the configuration, such as the settings of a cluster's node. */
  readonly settings?: readonly string[]
  /** Receives a line about each long step. */
  readonly log?: (line: string) => void
  /** Ends the search for a server program. */
  readonly stop?: AbortSignal
}

const MOST_ENTRIES_SCANNED = 32
const REWRITE_FROM_BYTES = 256 * 1024 ** 2
const DEFAULT_MAX_MEMORY_BYTES = 1024 ** 3

const STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const

const PASSING_TROUBLE = /Address already in use/

/** Starts Redis on 127.0.0.1, durable, with the data in `dataDir`. */
export const startRedis = async (options: RedisOptions): Promise<EmbeddedServer> => {
  // The path must be absolute, since the server changes its directory.
  const dataDir = resolve(options.dataDir)
  const { program, env, version } = await redisBinary(options.log ?? (() => {}), options.stop)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const password = keptPassword(dataDir)
  const configFile = join(dataDir, 'redis.conf')
  const server = await startServer({
    name: 'Redis',
    logName: 'redis.log',
    dataDir,
    wantedPort: options.port,
    stopSteps: STOP_STEPS,
    passingTrouble: PASSING_TROUBLE,
    explainEnd: (log) => explainDamage(log, { dataDir, program, env }),
    prepare: () => ({
      urlAt: (port) => `redis://default:${password}@127.0.0.1:${port}`,
      commandAt: (port) => {
        rmSync(configFile, { force: true })
        writeFileSync(configFile, configuration({ ...options, dataDir, port, password, version }), { mode: 0o600 })
        return [...signalOnParentDeath('SIGTERM'), program, configFile]
      },
      env,
      isReady: ({ port }) => answersPing(port, password),
    }),
  })
  if (options.appendFsync !== 'always') {
    const endSyncs = syncEachSecond(dataDir, options.log ?? (() => {}))
    void server.exited.then(endSyncs)
  }
  return server
}

/**
 * The text of the configuration file. The settings are not arguments, since one of them is the
 * password, and every user can read the arguments of a program.
 */
const configuration = (options: RedisOptions & { port: number; password: string; version: string }): string => {
  const {
    dataDir,
    port,
    password,
    version,
    maxMemoryBytes = DEFAULT_MAX_MEMORY_BYTES,
    appendFsync = 'no',
    settings = [],
  } = options
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(dataDir)}`,
    'daemonize no',
    'appendonly yes',
    `appendfsync ${appendFsync}`,
    // A rewrite takes a whole processor, and requests wait longer meanwhile. By default Redis would
    // rewrite every few seconds under load.
    `auto-aof-rewrite-min-size ${REWRITE_FROM_BYTES}`,
    'save ""',
    `maxmemory ${maxMemoryBytes}`,
    'maxmemory-policy noeviction',
    // Redis scans a small hash from its first field on, which is slow for idempotency keys. Redis 7
    // calls this setting hash-max-listpack-entries, and accepts both names.
    `hash-max-ziplist-entries ${MOST_ENTRIES_SCANNED}`,
    // A slow log and a crash report quote commands, and so submitted content.
    'slowlog-log-slower-than -1',
    ...(hasCrashLogSetting(version) ? ['crash-log-enabled no'] : []),
    ...settings,
  ]
  return `${lines.join('\n')}\n`
}

/** Redis has this setting from 6.2 on. */
const hasCrashLogSetting = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 6 || (major === 6 && minor >= 2)
}

/** Redis refuses connections until it listens, and answers LOADING until it has read its data. */
const answersPing = (port: number, password: string): Promise<boolean> => {
  const patienceMs = 1_000
  return new Promise((settle) => {
    const socket = connect({ port, host: '127.0.0.1' })
    let answer = ''
    const finish = (ready: boolean) => {
      socket.destroy()
      settle(ready)
    }
    socket.setEncoding('utf8').setTimeout(patienceMs, () => finish(false))
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`))
    socket.once('error', () => finish(false))
    socket.once('close', () => finish(false))
    socket.on('data', (text: string) => {
      answer += text
      if (answer.includes('+PONG')) finish(true)
      else if (answer.split('\r\n').length > 2) finish(false)
    })
  })
}

import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { keptFile } from './kept-file.ts'
import { choosePort } from './kept-port.ts'
import { signalOnParentDeath } from './parent-death.ts'
import { endLeftover } from './pid-file.ts'
import { redisBinary } from './redis-binary.ts'
import { rotateLog } from './rotate-log.ts'
import type { EmbeddedServer } from './server.ts'
import { startServerProcess } from './server-process.ts'
import { startUntilReady } from './start-until-ready.ts'

export type AppendFsync = 'always' | 'everysec' | 'no'

export type RedisOptions = {
  /** Everything of this server goes below it: data, password, port, log. */
  readonly dataDir: string
  /** Left out: the port of the last start if it is free, else any. */
  readonly port?: number
  readonly maxMemoryBytes?: number
  /** `everysec` may lose a second when the machine loses power, `always` nothing. */
  readonly appendFsync?: AppendFsync
  /** Further lines of its configuration, such as those of a cluster's node. */
  readonly settings?: readonly string[]
  /** Told, in one line, what takes long. */
  readonly log?: (line: string) => void
}

/** Most feedback is shorter. */
const BYTES_IN_ONE_PIECE = 2_048
const REWRITE_FROM_BYTES = 256 * 1024 ** 2
const DEFAULT_MAX_MEMORY_BYTES = 1024 ** 3
const PASSWORD_BYTES = 24

const STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const

/** Reading a large append-only file takes its time. */
const READY_WITHIN_MS = 120_000

const PASSING_TROUBLE = /Address already in use/

/** Starts Redis on 127.0.0.1, durable, with what it had before; ends a server that was left behind in `dataDir`. */
export const startRedis = async (options: RedisOptions): Promise<EmbeddedServer> => {
  const { log = () => {} } = options
  // The server changes its directory.
  const dataDir = resolve(options.dataDir)
  const { program, env, version } = await redisBinary(log)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const password = keptFile(join(dataDir, 'password'), () => randomBytes(PASSWORD_BYTES).toString('hex'))
  const configFile = join(dataDir, 'redis.conf')
  const logFile = join(dataDir, 'redis.log')
  const pidFile = join(dataDir, 'pid')

  await endLeftover(pidFile, STOP_STEPS)
  rotateLog(logFile)

  let port = 0
  const server = await startUntilReady({
    name: 'Redis',
    start: async () => {
      port = await choosePort(join(dataDir, 'port'), options.port)
      rmSync(configFile, { force: true })
      writeFileSync(configFile, configuration({ ...options, dataDir, port, password, version }), { mode: 0o600 })
      return startServerProcess({
        command: [...signalOnParentDeath('SIGTERM'), program, configFile],
        env,
        logFile,
        pidFile,
        stopSteps: STOP_STEPS,
      })
    },
    isReady: () => answersPing(port, password),
    readyWithinMs: READY_WITHIN_MS,
    logFile,
    passingTrouble: PASSING_TROUBLE,
  })
  const url = `redis://default:${password}@127.0.0.1:${port}`
  return { url, port, pid: server.pid, exited: server.exited, stop: server.stop }
}

/** A file rather than arguments: those can be read by every user of the machine, and one is the password. */
const configuration = (options: RedisOptions & { port: number; password: string; version: string }): string => {
  const {
    dataDir,
    port,
    password,
    version,
    maxMemoryBytes = DEFAULT_MAX_MEMORY_BYTES,
    appendFsync = 'everysec',
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
    // A rewrite takes a processor for up to a second. With 64 MB of commands, Redis's own bound, one comes every few seconds under load,
    // and one feedback in a hundred waited 13 ms, at 4,200 a second; with none coming 8.
    `auto-aof-rewrite-min-size ${REWRITE_FROM_BYTES}`,
    'save ""',
    `maxmemory ${maxMemoryBytes}`,
    'maxmemory-policy noeviction',
    // A job is a hash. In one piece, with a body of this many bytes, one of a feedback takes 890 bytes of memory; in its parts 1,110.
    // Redis 7 has another name for it as well, and knows this one.
    `hash-max-ziplist-value ${BYTES_IN_ONE_PIECE}`,
    // A slow log and a crash report quote commands, and so what people submitted.
    'slowlog-log-slower-than -1',
    ...(isAtLeast(version, 6, 2) ? ['crash-log-enabled no'] : []),
    ...settings,
  ]
  return `${lines.join('\n')}\n`
}

const isAtLeast = (version: string, major: number, minor: number): boolean => {
  const [hasMajor = 0, hasMinor = 0] = version.split('.').map(Number)
  return hasMajor > major || (hasMajor === major && hasMinor >= minor)
}

/** Refused until it listens, and answered with LOADING until it has read its data. */
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

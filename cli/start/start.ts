import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lockDataDir } from './embedded/data-dir-lock.ts'
import { findFreePort, type ReservedPort, reserveNextPort, reservePort } from './embedded/free-port.ts'
import { endLeftoverProgram, type KeptProgram, runProgram } from './embedded/kept-program.ts'
import { keptHashKey, keptTokens, type Tokens } from './embedded/kept-secrets.ts'
import { keepServer } from './embedded/kept-server.ts'
import { type LauncherConfig, readLauncherConfig } from './launcher-config.ts'
import { startPostgres } from './embedded/postgres-server.ts'
import { startRedis } from './embedded/redis-server.ts'
import { httpAddress, type ServerUrls, startMessage } from './start-message.ts'
import { printHelp } from '../../process/print-help.ts'
import { removeServiceFile, writeServiceFile } from '../../process/service-file.ts'

const FIRST_PORT = 3000
const READY_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 50
/** `/readyz` answers sooner; whoever else has the port may not answer at all. */
const ANSWER_WITHIN_MS = 5_000
/** npm passes Ctrl-C on to a program that the terminal has told already: what follows so closely is no second one. */
const SECOND_SIGNAL_AFTER_MS = 1_000

const root = fileURLToPath(new URL('../..', import.meta.url))
const say = (line: string): void => console.error(line)
/** What runs, in the order of its start; it is stopped in the opposite order. */
const running = new AsyncDisposableStack()
const runningPids: (() => number | undefined)[] = []
const stopAsked = new AbortController()

/** The first signal asks for an orderly end; another one ends everything at once, and the next start cleans up. */
const onStopSignal = (): (() => void) => {
  let firstAt: number | undefined
  return () => {
    if (firstAt === undefined) {
      firstAt = Date.now()
      say('Stopping …')
      stopAsked.abort()
    } else if (Date.now() - firstAt > SECOND_SIGNAL_AFTER_MS) {
      for (const pid of runningPids) killNow(pid())
      process.exit(130)
    }
  }
}

const onSignal = onStopSignal()

const main = async (): Promise<number> => {
  let exitCode = 0
  try {
    await start(readLauncherConfig(process.env))
    await aborted(stopAsked.signal)
  } catch (error) {
    if (!stopAsked.signal.aborted) {
      say(error instanceof Error ? error.message : String(error))
      exitCode = 1
    }
  }
  try {
    await running.disposeAsync()
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    exitCode = 1
  }
  return exitCode
}

const start = async (config: LauncherConfig): Promise<void> => {
  const lock = lockDataDir(config.DATA_DIR)
  running.defer(() => lock.release())
  mkdirSync(join(config.DATA_DIR, 'logs'), { recursive: true, mode: 0o700 })
  await endLeftoverPrograms(config)
  const apiPort = await reserveApiPort(config)
  running.defer(() => apiPort.release())
  const workerPort = await chooseWorkerPort(config)

  const urls = await startServers(config)
  const tokens = tokensOf(config)
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    DATA_DIR: config.DATA_DIR,
    DATABASE_URL: urls.databaseUrl,
    REDIS_URL: urls.redisUrl,
    HASH_KEY: config.HASH_KEY ?? keptHashKey(config.DATA_DIR),
    ...tokens,
    HOST: config.HOST,
    PORT: String(apiPort.port),
    WORKER_PORT: String(workerPort),
  }
  await migrate(env)
  await startPrograms({ config, env, apiPort })
  running.defer(() => removeServiceFile(config.DATA_DIR))
  await writeServiceFile(config.DATA_DIR, {
    url: httpAddress(config.HOST, apiPort.port),
    ...urls,
    databaseSchema: process.env['DATABASE_SCHEMA'],
    redisPrefix: process.env['REDIS_PREFIX'],
    hashKey: env.HASH_KEY,
  })
  console.log(startMessage({ config, urls, tokens, port: apiPort.port }))
}

const endLeftoverPrograms = async ({ DATA_DIR }: LauncherConfig): Promise<void> => {
  await Promise.all(['api', 'worker'].map((name) => endLeftoverProgram(pidFileOf(DATA_DIR, name))))
}

const reserveApiPort = async ({ PORT, HOST }: LauncherConfig): Promise<ReservedPort> => {
  if (PORT === undefined) return reserveNextPort(FIRST_PORT, HOST)
  const reserved = await reservePort(PORT, HOST)
  if (reserved === undefined)
    throw new Error(`PORT ${PORT} is taken on ${HOST}: stop what listens there, or set another`)
  return reserved
}

const chooseWorkerPort = async ({ WORKER_PORT }: LauncherConfig): Promise<number> => {
  if (WORKER_PORT === undefined) return findFreePort()
  if ((await findFreePort(WORKER_PORT)) === WORKER_PORT) return WORKER_PORT
  throw new Error(`WORKER_PORT ${WORKER_PORT} is taken: stop what listens there, or set another`)
}

const startServers = async ({ DATA_DIR, DATABASE_URL, REDIS_URL }: LauncherConfig): Promise<ServerUrls> => {
  const [databaseUrl, redisUrl] = await Promise.allSettled([
    DATABASE_URL ??
      embedded('PostgreSQL', (port) => startPostgres({ dataDir: join(DATA_DIR, 'postgres'), log: say, ...port })),
    REDIS_URL ?? embedded('Redis', (port) => startRedis({ dataDir: join(DATA_DIR, 'redis'), log: say, ...port })),
  ])
  // Looked at only when both are settled: one that failed must not hide the other, which has to be stopped.
  if (databaseUrl.status === 'rejected') throw databaseUrl.reason
  if (redisUrl.status === 'rejected') throw redisUrl.reason
  return { databaseUrl: databaseUrl.value, redisUrl: redisUrl.value }
}

const embedded = async (
  name: string,
  startServer: (port: { port?: number }) => ReturnType<typeof startRedis>,
): Promise<string> => {
  const server = await keepServer({ name, say, start: (port) => startServer(port === undefined ? {} : { port }) })
  running.defer(() => server.stop())
  runningPids.push(server.pid)
  return server.url
}

const tokensOf = ({ DATA_DIR, BOOTSTRAP_ACCESS_TOKEN, BOOTSTRAP_ADMIN_TOKEN }: LauncherConfig): Tokens => {
  if (BOOTSTRAP_ACCESS_TOKEN !== undefined && BOOTSTRAP_ADMIN_TOKEN !== undefined) {
    return { BOOTSTRAP_ACCESS_TOKEN, BOOTSTRAP_ADMIN_TOKEN }
  }
  const kept = keptTokens(DATA_DIR)
  return {
    BOOTSTRAP_ACCESS_TOKEN: BOOTSTRAP_ACCESS_TOKEN ?? kept.BOOTSTRAP_ACCESS_TOKEN,
    BOOTSTRAP_ADMIN_TOKEN: BOOTSTRAP_ADMIN_TOKEN ?? kept.BOOTSTRAP_ADMIN_TOKEN,
  }
}

const migrate = async (env: NodeJS.ProcessEnv): Promise<void> => {
  stopAsked.signal.throwIfAborted()
  const child = spawn(process.execPath, [join(root, 'cli/migrate-command.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${output.trimEnd()}\nThe database could not be migrated.`)
}

const startPrograms = async (options: {
  config: LauncherConfig
  env: NodeJS.ProcessEnv
  apiPort: ReservedPort
}): Promise<void> => {
  const { config, env, apiPort } = options
  stopAsked.signal.throwIfAborted()
  await apiPort.release()
  const programs = ['worker', 'api'].map((name) =>
    runProgram({
      name,
      command: [process.execPath, join(root, name, 'main.ts')],
      env,
      logFile: join(config.DATA_DIR, 'logs', `${name}.log`),
      pidFile: pidFileOf(config.DATA_DIR, name),
      say,
    }),
  )
  running.defer(async () => void (await Promise.all(programs.map((program) => program.stop()))))
  runningPids.push(...programs.map(({ pid }) => pid))
  await Promise.race([answersReady(`${httpAddress(config.HOST, apiPort.port)}/readyz`), ...programs.map(failsEarly)])
  for (const program of programs) program.keep()
}

const failsEarly = async ({ earlyEnd }: KeptProgram): Promise<never> => {
  throw new Error(await earlyEnd)
}

const answersReady = async (url: string): Promise<void> => {
  const deadline = Date.now() + READY_WITHIN_MS
  while (Date.now() < deadline) {
    stopAsked.signal.throwIfAborted()
    const ready = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
      async (answer) => (await answer.arrayBuffer(), answer.status === 200),
      () => false,
    )
    if (ready) return
    await pause(LOOK_EVERY_MS)
  }
  throw new Error(
    `The API is not ready after ${READY_WITHIN_MS / 1000} s; its log is beside the worker's in DATA_DIR/logs.`,
  )
}

const pidFileOf = (dataDir: string, name: string): string => {
  return join(dataDir, `${name}.pid`)
}

const killNow = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // It was gone already.
  }
}

const aborted = (signal: AbortSignal): Promise<void> => {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

printHelp(`usage: npm start
Starts PostgreSQL, Redis, the API and a worker, with their data in DATA_DIR, until Ctrl-C. README.md has more.`)
process.on('SIGINT', onSignal)
process.on('SIGTERM', onSignal)
process.exit(await main())

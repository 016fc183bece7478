import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { bypassProxies } from '../../runtime/bypass-proxies.ts'
import { describeMisspelt, findMisspelt } from '../../runtime/misspelt-settings.ts'
import { printHelp } from '../../runtime/print-help.ts'
import { removeServiceFile, writeServiceFile } from '../../runtime/service-file.ts'
import { untilAborted } from '../../runtime/within-time.ts'
import { lockDataDir } from './embedded/data-dir-lock.ts'
import { explainFullDisk } from './embedded/full-disk.ts'
import { keptHashKey, keptTokens, type Tokens } from './embedded/kept-secrets.ts'
import { givenSettings, type LauncherConfig, readLauncherConfig } from './launcher-config.ts'
import { reservePorts } from './reserve-ports.ts'
import { createRunning, type Running } from './running.ts'
import { httpAddress, startMessage } from './start-message.ts'
import { endLeftoverPrograms, migrate, startPrograms } from './start-programs.ts'
import { startServers } from './start-servers.ts'

/** For one Ctrl-C, the terminal and npm each send a signal. A later signal is a second Ctrl-C. */
const SECOND_SIGNAL_AFTER_MS = 1_000

const say = (line: string): void => console.error(line)
const sayError = (error: unknown): void => {
  const text = error instanceof Error ? error.message : String(error)
  say(explainFullDisk(text) ?? text)
}

const main = async (): Promise<number> => {
  const running = createRunning()
  onSignal(running)
  let exitCode = 0
  try {
    const config = readLauncherConfig(process.env)
    bypassProxies(process.env, config.HOST)
    await start(config, running)
    await untilAborted(running.stopAsked)
  } catch (error) {
    if (!running.stopAsked.aborted) {
      sayError(error)
      exitCode = 1
    }
  }
  try {
    await running.stopAll()
  } catch (error) {
    sayError(error)
    exitCode = 1
  }
  return exitCode
}

/** The first signal ends all programs in order, the second one kills them. */
const onSignal = (running: Running): void => {
  let firstAt: number | undefined
  const handle = (): void => {
    if (firstAt === undefined) {
      firstAt = Date.now()
      say('Stopping …')
      running.askToStop()
    } else if (Date.now() - firstAt > SECOND_SIGNAL_AFTER_MS) {
      running.killAll()
      process.exit(130)
    }
  }
  process.on('SIGINT', handle)
  process.on('SIGTERM', handle)
}

const start = async (config: LauncherConfig, running: Running): Promise<void> => {
  const misspelt = findMisspelt(process.env)
  for (const name of misspelt) say(describeMisspelt(name))
  takeDataDir(config, running)
  await endLeftoverPrograms(config)
  const ports = await reservePorts(config, running)
  const urls = await startServers(config, running, say)
  const tokens = tokensOf(config)
  const hashKey = config.HASH_KEY ?? keptHashKey(config.DATA_DIR)
  const env = {
    ...process.env,
    // The API and the worker would name these variables again.
    ...Object.fromEntries(misspelt.map(({ given }) => [given, undefined])),
    NODE_ENV: 'production',
    DATA_DIR: config.DATA_DIR,
    DATABASE_URL: urls.databaseUrl,
    REDIS_URL: urls.redisUrl,
    HASH_KEY: hashKey,
    ...tokens,
    HOST: config.HOST,
    PORT: String(ports.api.port),
    WORKER_PORT: String(ports.worker),
  }
  await migrate(env, running.stopAsked)
  await startPrograms({ config, env, ports, running, say })
  running.add(() => removeServiceFile(config.DATA_DIR))
  await writeServiceFile(config.DATA_DIR, {
    url: httpAddress(config.HOST, ports.api.port),
    ...urls,
    databaseSchema: process.env['DATABASE_SCHEMA'],
    redisPrefix: process.env['REDIS_PREFIX'],
    hashKey,
  })
  console.log(startMessage({ config, given: givenSettings(process.env), urls, tokens, port: ports.api.port }))
}

const takeDataDir = ({ DATA_DIR }: LauncherConfig, running: Running): void => {
  const lock = lockDataDir(DATA_DIR)
  running.add(lock.release)
  mkdirSync(join(DATA_DIR, 'logs'), { recursive: true, mode: 0o700 })
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

printHelp(`usage: npm start
Starts PostgreSQL, Redis, the API and a worker, with their data in DATA_DIR, until Ctrl-C. See README.md.`)
process.exit(await main())

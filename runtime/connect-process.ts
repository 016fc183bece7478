import process from 'node:process'
import { type HashKey, hashKeyFrom } from '../contract/identity/keys.ts'
import { boundRepeats } from './bound-repeats.ts'
import { explainPostgres, explainRedis } from './explain-fault.ts'
import { codeOf, describeFault } from './fault.ts'
import { type Logger, createLogger } from './logger.ts'
import { findMisspelt } from './misspelt-settings.ts'
import { printHelp } from './print-help.ts'
import { BadSettings, type Environment, type Settings } from './settings.ts'

type Needed = Settings<'HASH_KEY' | 'LOG_LEVEL'>

type Stores<Sql, Redis> = { sql: Sql; redis: Redis; hashKey: HashKey; log: Logger }

type ProcessKind<Config, Sql, Redis> = {
  name: 'api' | 'worker'
  environment: Environment
  readConfig: (environment: Environment) => Config
  connectPostgres: (config: Config, log: Logger) => Sql
  connectRedis: (config: Config, log: Logger) => Promise<Redis>
  /**
   * Each check returns why this process cannot work with its stores, or undefined. The checks run
   * one after the other, in this order.
   */
  reasonsNotToStart: readonly ((stores: Stores<Sql, Redis>) => Promise<string | undefined>)[]
}

const USAGES = {
  api: `usage: npm run api
Serves the HTTP interface until SIGTERM. The environment that it reads is in docs/environment.md.`,
  worker: `usage: npm run worker
Applies accepted submissions until SIGTERM. The environment that it reads is in docs/environment.md.`,
} as const

/** Writes the reason to stderr and ends this process with status 1. */
export const endWith = (reason: string): never => {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

/** Why a process cannot listen. The settings for host and port are HOST and PORT after `prefix`. */
export const whyNotListening = (
  error: unknown,
  { host, port, prefix }: { host: string; port: number; prefix: '' | 'WORKER_' },
): string =>
  codeOf(error) === 'EADDRINUSE'
    ? `Port ${port} on ${host} is taken. Set ${prefix}PORT to a free one.`
    : `This process cannot listen at port ${port} on ${host} (${describeFault(error)}). Check ${prefix}HOST and ${prefix}PORT.`

/**
 * The common start of API and workers. It reads the configuration, connects to both stores and runs
 * the checks. With a bad configuration or a failed check it ends the process and prints the reason.
 */
export const connectProcess = async <Config extends Needed, Sql, Redis>(
  kind: ProcessKind<Config, Sql, Redis>,
): Promise<Stores<Sql, Redis> & { config: Config }> => {
  printHelp(USAGES[kind.name])
  const config = readOrEnd(() => kind.readConfig(kind.environment))
  // A log that cannot be written, as on a full disk, must not end the process.
  process.stdout.on('error', () => {})
  const write = (line: string): void => void process.stdout.write(line)
  const log = boundRepeats(createLogger(write, config.LOG_LEVEL, { process: kind.name }))
  for (const misspelt of findMisspelt(kind.environment)) log('warn', 'setting_unknown', misspelt)
  const hashKey = hashKeyFrom(config.HASH_KEY)
  const sql = kind.connectPostgres(config, log)
  const redis = await kind.connectRedis(config, log)
  try {
    for (const reasonNotToStart of kind.reasonsNotToStart) {
      const reason = await reasonNotToStart({ sql, redis, hashKey, log })
      if (reason !== undefined) endWith(reason)
    }
  } catch (error) {
    const isOfRedis = error instanceof Error && error.name === 'ReplyError'
    const { what, remedy } = isOfRedis ? explainRedis(error) : explainPostgres(error)
    endWith(`This process cannot start. ${what} ${remedy}`)
  }
  return { config, log, hashKey, sql, redis }
}

const readOrEnd = <Config>(read: () => Config): Config => {
  try {
    return read()
  } catch (error) {
    return endWith(error instanceof BadSettings ? error.message : 'The environment cannot be read.')
  }
}

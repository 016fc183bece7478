import process from 'node:process'
import { type Log, logTo } from './contract/log.ts'
import { type HashKey, hashKeyFrom } from './contract/own-id.ts'
import { BadSettings, type Settings } from './contract/settings.ts'
import { describeFault } from './fault.ts'
import { belongsToHashKey } from './installation.ts'
import { isMigrated, readMigrations } from './migrate.ts'
import { connectPostgres, type Sql } from './postgres.ts'
import { printHelp } from './print-help.ts'
import { type RedisClient, redisCondition, unfitness } from './redis.ts'

type Needed = Settings<
  | 'DATABASE_URL'
  | 'DATABASE_SCHEMA'
  | 'DATABASE_POOLER'
  | 'DATABASE_CONNECTIONS'
  | 'REDIS_URL'
  | 'HASH_KEY'
  | 'LOG_LEVEL'
>

export type ConnectedProcess<Config> = { config: Config; log: Log; hashKey: HashKey; sql: Sql; redis: RedisClient }

const USAGES = {
  api: `usage: npm run api
Serves the HTTP interface until SIGTERM. The environment that it reads is in docs/environment.md.`,
  worker: `usage: npm run worker
Stores what is queued until SIGTERM. The environment that it reads is in docs/environment.md.`,
} as const

const NO_SCHEMA_BEHIND_POOLER =
  'DATABASE_SCHEMA is nothing behind a pooler in transaction mode: set search_path for the role of DATABASE_URL instead.'

/** Ends this process, which cannot go on, with the reason as its last line. */
export const endWith = (reason: string): never => {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

/**
 * What API and workers have in common at their start: reads the configuration, connects, and makes sure that this Redis loses
 * nothing and that this database is of this version and this hash key. Otherwise it ends the process with the reason.
 */
export const connectProcess = async <Config extends Needed>(kind: {
  name: 'api' | 'worker'
  readConfig: () => Config
  connectRedis: (url: string) => RedisClient
  statementTimeoutMs: number
}): Promise<ConnectedProcess<Config>> => {
  printHelp(USAGES[kind.name])
  const config = readOrEnd(kind.readConfig)
  if (config.DATABASE_POOLER === 'transaction' && config.DATABASE_SCHEMA !== undefined) endWith(NO_SCHEMA_BEHIND_POOLER)
  const log = logTo((line) => void process.stdout.write(line), config.LOG_LEVEL, { process: kind.name })
  const hashKey = hashKeyFrom(config.HASH_KEY)
  const sql = connectPostgres(config.DATABASE_URL, {
    connections: config.DATABASE_CONNECTIONS,
    statementTimeoutMs: kind.statementTimeoutMs,
    pooler: config.DATABASE_POOLER,
    applicationName: `feedback-insights-${kind.name}`,
    ...(config.DATABASE_SCHEMA !== undefined && { schema: config.DATABASE_SCHEMA }),
  })
  const redis = kind.connectRedis(config.REDIS_URL)
  logReachability(redis, log)
  // BullMQ keeps the failure of its first command for ever, so nothing is opened on a connection that is not ready.
  await new Promise<void>((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)))
  try {
    await checkInstallation({ sql, redis, hashKey, log })
  } catch (error) {
    endWith(`This process cannot start: Redis or Postgres failed with ${describeFault(error)}.`)
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

/** After this long without a failure, a cluster is taken for whole. */
const QUIET_MS = 5_000

/** Says once that Redis went away, and once that it is back: the client tells its errors many times a second. */
const logReachability = (redis: RedisClient, log: Log): void => {
  let reachable = true
  const away = (error: unknown): void => {
    if (reachable) log('warn', 'redis_unreachable', { fault: describeFault(error) })
    reachable = false
  }
  redis.on('error', away)
  const again = (): void => {
    if (!reachable) log('info', 'redis_reachable')
    reachable = true
  }
  redis.on('ready', again)
  if (!redis.isCluster) return
  // Nor does a cluster say that a node is back: that nothing fails any more is all there is.
  let quiet: ReturnType<typeof setTimeout> | undefined
  redis.on('node error', (error: unknown) => {
    away(error)
    clearTimeout(quiet)
    quiet = setTimeout(again, QUIET_MS)
  })
}

const checkInstallation = async ({
  sql,
  redis,
  hashKey,
  log,
}: Pick<ConnectedProcess<unknown>, 'sql' | 'redis' | 'hashKey' | 'log'>): Promise<void> => {
  const condition = await redisCondition(redis)
  const reason = unfitness(condition)
  if (reason !== undefined) endWith(reason)
  if (!condition.appendOnly) log('warn', 'redis_without_append_only_file')
  if (!(await isMigrated(sql, await readMigrations()))) {
    endWith('The database has not been migrated to this version. Run: npm run migrate')
  }
  if (!(await belongsToHashKey(sql, hashKey))) {
    endWith('HASH_KEY is not the one that this database was made with. Start with the former one.')
  }
}

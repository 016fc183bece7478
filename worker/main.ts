import process from 'node:process'
import { Worker } from 'bullmq'
import { lowestOutstandingIn, lowestPurgeIn, settlementIn } from '../db/admission.ts'
import { logTo } from '../db/contract/log.ts'
import { hashKeyFrom } from '../db/contract/own-id.ts'
import { QUEUE_NAMES, type QueueName, queuePrefix } from '../db/contract/queues.ts'
import { BadSettings } from '../db/contract/settings.ts'
import { describeFault } from '../db/fault.ts'
import { expireReceipts } from '../db/expire-receipts.ts'
import { contactFinder } from '../db/find-contacts.ts'
import { belongsToHashKey } from '../db/installation.ts'
import { closeQueues, enqueueTagging, openQueues } from '../db/job-queues.ts'
import { isMigrated, readMigrations } from '../db/migrate.ts'
import { connectPostgres } from '../db/postgres.ts'
import { connectToWork, redisCondition, unfitness } from '../db/redis.ts'
import { readWorkerConfig, type WorkerConfig } from './config.ts'
import { withdrawLost } from '../db/sweep.ts'
import { createHealthServer, createWorkerMetrics } from './health.ts'
import { createProcessors } from './processors.ts'

const STATEMENT_TIMEOUT_MS = 60_000
const LOOK_UP_TIMEOUT_MS = 30_000
const UPKEEP_EVERY_MS = 20_000
/** A crashed worker's job is delivered again; one that crashes its worker this often is given up. */
const MAX_DELIVERIES = 5
// What a killed worker held is delivered again within their sum. With BullMQ's defaults, 30 s each, it took a minute.
const LOCK_MS = 15_000
const LOOK_FOR_STALLED_EVERY_MS = 5_000

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

const configOrExit = (): WorkerConfig => {
  try {
    return readWorkerConfig(process.env)
  } catch (error) {
    return fail(error instanceof BadSettings ? error.message : 'The environment cannot be read.')
  }
}

const config = configOrExit()
const log = logTo((line) => void process.stdout.write(line), config.LOG_LEVEL, { process: 'worker' })
const hashKey = hashKeyFrom(config.HASH_KEY)
const sql = connectPostgres(config.DATABASE_URL, {
  connections: config.DATABASE_CONNECTIONS,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  applicationName: 'feedback-insights-worker',
  ...(config.DATABASE_SCHEMA !== undefined && { schema: config.DATABASE_SCHEMA }),
})
const redis = connectToWork(config.REDIS_URL)
let redisReachable: boolean | undefined
redis.on('error', (error: unknown) => {
  if (redisReachable !== false) log('warn', 'redis_unreachable', { fault: describeFault(error) })
  redisReachable = false
})
redis.on('ready', () => {
  if (redisReachable === false) log('info', 'redis_reachable')
  redisReachable = true
})

const checkInstallation = async (): Promise<void> => {
  const reason = unfitness(await redisCondition(redis))
  if (reason !== undefined) fail(reason)
  if (!(await isMigrated(sql, await readMigrations()))) {
    fail('The database has not been migrated to this version. Run: bun run migrate')
  }
  if (!(await belongsToHashKey(sql, hashKey))) {
    fail('HASH_KEY is not the one that this database was made with. Start with the former one.')
  }
}
await checkInstallation().catch((error: unknown) =>
  fail(`The worker cannot start: Redis or Postgres failed with ${describeFault(error)}.`),
)

const queues = openQueues(redis, config.REDIS_PREFIX, () => {})
const stopping = new AbortController()
const processors = createProcessors({
  sql,
  hashKey,
  findContacts: contactFinder(sql, hashKey, LOOK_UP_TIMEOUT_MS),
  settle: settlementIn(redis, config.REDIS_PREFIX),
  lowestOutstanding: lowestOutstandingIn(redis, config.REDIS_PREFIX),
  lowestPurge: lowestPurgeIn(redis, config.REDIS_PREFIX),
  enqueueTagging: (jobs) => enqueueTagging(queues, jobs),
  log,
  stop: stopping.signal,
})
/** Conversations can be large and tagging computes, so few of them are held at once. */
const CONCURRENCY: Readonly<Record<QueueName, number>> = {
  feedback: config.WORKER_CONCURRENCY,
  contacts: config.WORKER_CONCURRENCY,
  accounts: config.WORKER_CONCURRENCY,
  conversations: 10,
  tagging: 2,
  purges: 2,
}

const metrics = createWorkerMetrics()
const workers = QUEUE_NAMES.map((name) => {
  const worker = new Worker(name, processors[name], {
    connection: redis,
    prefix: queuePrefix(config.REDIS_PREFIX, name),
    concurrency: CONCURRENCY[name],
    maxStalledCount: MAX_DELIVERIES,
    lockDuration: LOCK_MS,
    stalledInterval: LOOK_FOR_STALLED_EVERY_MS,
  })
  worker.on('completed', (_job, result: unknown) => metrics.count(name, typeof result === 'string' ? result : 'done'))
  worker.on('failed', () => metrics.count(name, 'failed'))
  worker.on('error', (error) => {
    if (redisReachable !== false) log('warn', 'queue_fault', { queue: name, fault: describeFault(error) })
  })
  return worker
})

const health = createHealthServer(metrics)
health.on('error', () =>
  fail(`Port ${config.WORKER_PORT} on ${config.WORKER_HOST} is taken. Set WORKER_PORT to a free one.`),
)
health.listen(config.WORKER_PORT, config.WORKER_HOST, () => {
  const address = health.address()
  log('info', 'working', { port: typeof address === 'object' ? address?.port : undefined })
})

// Every worker does it now and then; doing it at the same time does no harm.
const upkeep = setInterval(() => {
  const work = { sql, redis, prefix: config.REDIS_PREFIX, queues }
  void Promise.all([withdrawLost(work, Date.now()), expireReceipts(sql, config.RECEIPT_DAYS)]).then(
    ([withdrawn, expired]) => {
      if (withdrawn + expired > 0) log('info', 'upkeep', { withdrawn, expired })
    },
    (error: unknown) => log('warn', 'upkeep_failed', { fault: describeFault(error) }),
  )
}, UPKEEP_EVERY_MS)

let draining = false
const drain = async (): Promise<void> => {
  if (draining) return
  draining = true
  stopping.abort()
  clearInterval(upkeep)
  log('info', 'draining')
  const late = setTimeout(
    () => fail('Active jobs did not finish within SHUTDOWN_SECONDS.'),
    config.SHUTDOWN_SECONDS * 1_000,
  )
  await Promise.all(workers.map((worker) => worker.close()))
  health.close()
  await closeQueues(queues)
  redis.disconnect()
  await sql.end({ timeout: 5 })
  clearTimeout(late)
  process.exit(0)
}
process.on('SIGTERM', () => void drain())
process.on('SIGINT', () => void drain())

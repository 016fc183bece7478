import process from 'node:process'
import { admissionTo, queuedFactsIn, type RateLimit, rememberAnswered } from '../db/admission.ts'
import type { Operation } from '../db/contract/job.ts'
import { logTo } from '../db/contract/log.ts'
import { hashKeyFrom } from '../db/contract/own-id.ts'
import { BadSettings } from '../db/contract/settings.ts'
import { describeFault } from '../db/fault.ts'
import { contactFinder, queuedContactFinder } from '../db/find-contacts.ts'
import { referenceResolver } from '../db/identity.ts'
import { belongsToHashKey } from '../db/installation.ts'
import { closeQueues, countWaiting, enqueueSubmission, openQueues } from '../db/job-queues.ts'
import { readLedgers } from '../db/ledger.ts'
import { isMigrated, readMigrations } from '../db/migrate.ts'
import { connectPostgres } from '../db/postgres.ts'
import { findQueuedReceipt, findReceipt, findSettled } from '../db/receipts.ts'
import { connectToAnswer, redisCondition, unfitness } from '../db/redis.ts'
import { findTokenHolder, setBootstrapTokens } from '../db/tokens.ts'
import { BOARD_PATH, createApp } from './app.ts'
import { authenticator } from './authenticate.ts'
import { settledAwaiter } from './await-settled.ts'
import { createBoard } from './board.ts'
import { type ApiConfig, readApiConfig } from './config.ts'
import { createMetrics } from './metrics.ts'
import { watchPressure } from './pressure.ts'
import { serve } from './serve.ts'

const LOOK_UP_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 5_000
const MINUTE_MS = 60_000

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

const configOrExit = (): ApiConfig => {
  try {
    return readApiConfig(process.env)
  } catch (error) {
    return fail(error instanceof BadSettings ? error.message : 'The environment cannot be read.')
  }
}

const config = configOrExit()
const log = logTo((line) => void process.stdout.write(line), config.LOG_LEVEL, { process: 'api' })
const hashKey = hashKeyFrom(config.HASH_KEY)
const sql = connectPostgres(config.DATABASE_URL, {
  connections: config.DATABASE_CONNECTIONS,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  applicationName: 'feedback-insights-api',
  ...(config.DATABASE_SCHEMA !== undefined && { schema: config.DATABASE_SCHEMA }),
})
const redis = connectToAnswer(config.REDIS_URL)
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
  const condition = await redisCondition(redis)
  const reason = unfitness(condition)
  if (reason !== undefined) fail(reason)
  if (!condition.appendOnly) log('warn', 'redis_without_append_only_file')
  if (!(await isMigrated(sql, await readMigrations()))) {
    fail('The database has not been migrated to this version. Run: bun run migrate')
  }
  if (!(await belongsToHashKey(sql, hashKey))) {
    fail('HASH_KEY is not the one that this database was made with. Start with the former one.')
  }
  await setBootstrapTokens(sql, {
    ...(config.BOOTSTRAP_ACCESS_TOKEN !== undefined && { access: config.BOOTSTRAP_ACCESS_TOKEN }),
    ...(config.BOOTSTRAP_ADMIN_TOKEN !== undefined && { admin: config.BOOTSTRAP_ADMIN_TOKEN }),
  })
}

const limitOf = (operation: Operation): RateLimit | undefined => {
  const tokens = operation === 'submit_conversation' ? config.CONVERSATIONS_PER_MINUTE : config.SUBMISSIONS_PER_MINUTE
  return tokens === undefined ? undefined : { tokens, windowMs: MINUTE_MS }
}

// BullMQ keeps the failure of its first command for ever, so its queues are opened on a connection that is ready.
await new Promise<void>((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)))
const queues = openQueues(redis, config.REDIS_PREFIX, () => {})
const metrics = createMetrics(Object.values(queues), () => readLedgers(sql, redis, config.REDIS_PREFIX))
await checkInstallation().catch((error: unknown) =>
  fail(`The API cannot start: Redis or Postgres failed with ${describeFault(error)}.`),
)

const pressure = watchPressure(async () => {
  const [{ usedBytes, maxBytes }, waiting] = await Promise.all([redisCondition(redis), countWaiting(queues)])
  return { usedBytes, maxBytes, waiting }
}, config.MAX_BACKLOG)
const onFault = (event: string, error: unknown): void => log('warn', event, { fault: describeFault(error) })
const authenticate = authenticator((hash) => findTokenHolder(sql, hash), Date.now)
const lookUpQueued = queuedFactsIn(redis, config.REDIS_PREFIX)
let draining = false

const app = createApp({
  ingress: {
    authenticate,
    admit: admissionTo(redis, config.REDIS_PREFIX),
    enqueue: (job) => enqueueSubmission(queues, job),
    resolveReferences: referenceResolver(sql, lookUpQueued, LOOK_UP_TIMEOUT_MS),
    findContacts: contactFinder(sql, hashKey, LOOK_UP_TIMEOUT_MS),
    isQueued: queuedContactFinder(lookUpQueued, hashKey),
    awaitSettled: settledAwaiter((submissions) => findSettled(sql, submissions), Date.now),
    rememberAnswered: (done, idempotency) => rememberAnswered(redis, config.REDIS_PREFIX, { ...done, idempotency }),
    pressure: pressure.current,
    limitOf,
    maxBytes: { body: config.MAX_BODY_BYTES, conversation: config.MAX_CONVERSATION_BYTES },
    hashKey,
    onFault,
    count: metrics.count,
  },
  receipts: {
    authenticate,
    settled: (workspaceId, id) => findReceipt(sql, workspaceId, id),
    queued: (workspaceId, id) => findQueuedReceipt(queues, workspaceId, id),
    onFault,
  },
  isReady: async () => {
    if (draining) return false
    try {
      await Promise.all([redis.ping(), sql`select 1`])
      return true
    } catch {
      return false
    }
  },
  board: createBoard({ queues: Object.values(queues), basePath: BOARD_PATH }),
  metrics: metrics.render,
  log,
})

const listening = (() => {
  try {
    return serve({ port: config.PORT, hostname: config.HOST, fetch: app.handle })
  } catch {
    return fail(`Port ${config.PORT} on ${config.HOST} is taken. Set PORT to a free one.`)
  }
})()
log('info', 'listening', { host: config.HOST, port: listening.port })

const drain = async (): Promise<void> => {
  if (draining) return
  draining = true
  log('info', 'draining')
  const late = setTimeout(
    () => fail('Requests in flight were not answered within SHUTDOWN_SECONDS.'),
    config.SHUTDOWN_SECONDS * 1_000,
  )
  await listening.stop()
  pressure.stop()
  await closeQueues(queues)
  redis.disconnect()
  await sql.end({ timeout: 5 })
  clearTimeout(late)
  process.exit(0)
}
process.on('SIGTERM', () => void drain())
process.on('SIGINT', () => void drain())

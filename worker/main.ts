import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { openDatabase, whyNotThisDatabase } from '../db/open-database.ts'
import { whenReady, whyNotThisRedis } from '../queue/open-redis.ts'
import { answerSeconds } from '../db/answer-time.ts'
import { BatchingWorker } from '../queue/batching-worker.ts'
import { barrierIn } from '../queue/barrier.ts'
import { connectProcess, endWith } from '../process/connect-process.ts'
import { watchLoopDelay } from '../process/event-loop-delay.ts'
import type { TaggingJob } from '../contract/job.ts'
import { FINISHED_JOBS_KEPT, QUEUE_NAMES, type QueueName, queuePrefix } from '../contract/queues.ts'
import { describeFault } from '../process/fault.ts'
import { bringForward, closeQueues, enqueueTagging, forgetBodiesIn, openQueues } from '../queue/job-queues.ts'
import { processReportsIn, startReporting } from '../queue/process-reports.ts'
import { connectToWork } from '../queue/connect-redis.ts'
import { settleJobsIn } from '../queue/settle-jobs.ts'
import { openBooksIn } from '../queue/open-books.ts'
import { clearBooks } from '../queue/withdraw.ts'
import { openTracing } from '../process/open-tracing.ts'
import { jobsInHand } from './close-workers.ts'
import { readWorkerConfig } from './config.ts'
import { createHealthServer } from './health.ts'
import { createWorkerMetrics } from './metrics.ts'
import { createProcessors } from './processors.ts'
import { finishPurge } from './purge.ts'
import { keepUp } from './upkeep.ts'

const STATEMENT_TIMEOUT_MS = 60_000
/** Postgres cancels a statement first, unless the connection hangs. */
const ANSWER_WITHIN_MS = STATEMENT_TIMEOUT_MS + 15_000
const UPKEEP_EVERY_MS = 20_000
/** A crashed worker's job is delivered again; one that crashes its worker this often is given up. */
const MAX_DELIVERIES = 5
// What a killed worker held is delivered again within their sum. With BullMQ's defaults, 30 s each, it took a minute.
const LOCK_MS = 15_000
const LOOK_FOR_STALLED_EVERY_MS = 5_000
/** When Redis was away. BullMQ's default is 15 s. */
const TRY_AGAIN_AFTER_MS = 1_000

const { config, log, hashKey, sql, redis } = await connectProcess({
  name: 'worker',
  readConfig: () => readWorkerConfig(process.env),
  connectPostgres: (settings) => openDatabase(settings, { name: 'worker', statementTimeoutMs: STATEMENT_TIMEOUT_MS }),
  connectRedis: ({ REDIS_URL }, logRedis) => whenReady(connectToWork(REDIS_URL), logRedis),
  reasonsNotToStart: [
    (stores) => whyNotThisRedis(stores.redis, stores.log),
    (stores) => whyNotThisDatabase(stores.sql, stores.hashKey),
  ],
})
const tracing = await openTracing('worker', config.OTEL_EXPORTER_OTLP_ENDPOINT, log)
const queues = openQueues(redis, config.REDIS_PREFIX, () => {})
const stopping = new AbortController()
const enqueue = async (jobs: readonly TaggingJob[]): Promise<void> => {
  await enqueueTagging(queues, jobs)
}
const settlement = openBooksIn(redis, config.REDIS_PREFIX)
const forgetBodies = forgetBodiesIn(redis, queues)
const processors = createProcessors({
  sql,
  hashKey,
  settlement,
  readBarrier: barrierIn(redis, config.REDIS_PREFIX),
  bringForward: (submissionIds) => bringForward(redis, queues, submissionIds),
  enqueueTagging: enqueue,
  forgetBodies,
  settleJobs: settleJobsIn({ redis, prefix: config.REDIS_PREFIX, queues, settlement, forgetBodies }),
  clearBooks: (settled) => clearBooks(redis, config.REDIS_PREFIX, settled),
  finishPurge: (purge, at) =>
    finishPurge({ sql, redis, redisPrefix: config.REDIS_PREFIX, hashKey, enqueueTagging: enqueue }, purge, at),
  answerWithinMs: ANSWER_WITHIN_MS,
  tracing,
  log,
  stop: stopping.signal,
})
// With ten conversations at once, 420 a second were stored, with fifty 620. Tagging computes.
const CONCURRENCY: Readonly<Record<QueueName, number>> = {
  feedback: config.WORKER_CONCURRENCY,
  contacts: config.WORKER_CONCURRENCY,
  accounts: config.WORKER_CONCURRENCY,
  conversations: 50,
  tagging: 2,
  // Many wait for their place at once.
  purges: 200,
}

const loopDelay = watchLoopDelay()
const metrics = createWorkerMetrics({ loopDelay, answerSeconds: () => answerSeconds(sql), now: Date.now })
const inHand = jobsInHand()
const workers = QUEUE_NAMES.map((name) => {
  const worker = new BatchingWorker(name, inHand.counting(processors[name]), {
    connection: redis,
    prefix: queuePrefix(config.REDIS_PREFIX, name),
    concurrency: CONCURRENCY[name],
    // A failed one stays: it is an accepted submission.
    removeOnComplete: FINISHED_JOBS_KEPT,
    maxStalledCount: MAX_DELIVERIES,
    lockDuration: LOCK_MS,
    stalledInterval: LOOK_FOR_STALLED_EVERY_MS,
    runRetryDelay: TRY_AGAIN_AFTER_MS,
  })
  worker.on('completed', (job, result: unknown) => metrics.completed(name, job, result))
  worker.on('failed', () => metrics.failed(name))
  worker.on('error', (error) => {
    // An outage of Redis is logged once, by its connection.
    if (redis.status === 'ready') log('warn', 'queue_fault', { queue: name, fault: describeFault(error) })
  })
  return worker
})

const health = createHealthServer(metrics.render)
health.on('error', () =>
  endWith(`Port ${config.WORKER_PORT} on ${config.WORKER_HOST} is taken. Set WORKER_PORT to a free one.`),
)
health.listen(config.WORKER_PORT, config.WORKER_HOST, () => {
  const address = health.address()
  log('info', 'working', { port: typeof address === 'object' ? address?.port : undefined })
})

const reporting = startReporting(
  processReportsIn(redis, config.REDIS_PREFIX),
  { id: randomUUID(), kind: 'worker' },
  metrics.figures,
)

// Every worker does it now and then; doing it at the same time does no harm.
const upkeep = setInterval(() => {
  void keepUp({ sql, redis, prefix: config.REDIS_PREFIX, queues, hashKey, receiptDays: config.RECEIPT_DAYS }).then(
    (counts) => {
      if (Object.values(counts).some((count) => count > 0)) log('info', 'upkeep', counts)
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
    () => endWith('Active jobs did not finish within SHUTDOWN_SECONDS.'),
    config.SHUTDOWN_SECONDS * 1_000,
  )
  await inHand.close(workers)
  health.close()
  loopDelay.stop()
  await reporting.stop()
  await tracing?.stop()
  await closeQueues(queues)
  redis.disconnect()
  await sql.end({ timeout: 5 })
  clearTimeout(late)
  process.exit(0)
}
process.on('SIGTERM', () => void drain())
process.on('SIGINT', () => void drain())

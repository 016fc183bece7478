import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { openDatabase, whyNotThisDatabase } from '../db/connection/open-database.ts'
import { whenReady, whyNotThisRedis } from '../queue/redis/open-redis.ts'
import { answerSeconds } from '../db/connection/answer-time.ts'
import { openWorker } from '../queue/jobs/open-worker.ts'
import { connectProcess, endWith, whyNotListening } from '../runtime/connect-process.ts'
import { watchLoopDelay } from '../runtime/event-loop-delay.ts'
import type { QueueName } from '../contract/jobs.ts'
import { describeFault } from '../runtime/fault.ts'
import { closeQueues, createWake, openQueues } from '../queue/jobs/job-queues.ts'
import { createLog } from '../queue/log/log.ts'
import { createProcessReports, startReporting, workerConnectionName } from '../queue/jobs/process-reports.ts'
import { connectToWork } from '../queue/redis/connect-redis.ts'
import { watchRedoTime } from './apply/redo-time.ts'
import { openTracing } from '../runtime/open-tracing.ts'
import { bypassProxies } from '../runtime/bypass-proxies.ts'
import { createJobsInHand } from './jobs-in-hand.ts'
import { readWorkerConfig, type WorkerStores } from './config.ts'
import { createHealthServer } from './health.ts'
import { createWorkerMetrics } from './metrics.ts'
import { createProcessors } from './processors.ts'
import { startMaintenance } from './maintenance.ts'

const STATEMENT_TIMEOUT_MS = 60_000
/** Postgres cancels a statement sooner, unless the connection hangs. */
const ANSWER_WITHIN_MS = STATEMENT_TIMEOUT_MS + 15_000

const id = randomUUID()
bypassProxies(process.env)
const { config, log, hashKey, sql, redis } = await connectProcess({
  name: 'worker',
  environment: process.env,
  readConfig: readWorkerConfig,
  connectPostgres: (settings, logPostgres) =>
    openDatabase(settings, { name: 'worker', statementTimeoutMs: STATEMENT_TIMEOUT_MS, log: logPostgres }),
  connectRedis: ({ REDIS_URL, REDIS_PREFIX }, logRedis) =>
    whenReady(connectToWork(REDIS_URL, workerConnectionName(REDIS_PREFIX, id)), logRedis),
  reasonsNotToStart: [
    (stores) => whyNotThisRedis(stores.redis, stores.log),
    (stores) => whyNotThisDatabase(stores.sql, stores.hashKey),
  ],
})
const tracing = await openTracing('worker', config.OTEL_EXPORTER_OTLP_ENDPOINT, log)
const queues = openQueues(redis, config.REDIS_PREFIX)
const stopping = new AbortController()
const logs = createLog(redis, config.REDIS_PREFIX)
const stores: WorkerStores = { sql, redis, prefix: config.REDIS_PREFIX, logs, queues, hashKey }
const wake = createWake(queues)
const redoTime = watchRedoTime(redis, config.REDO_SECONDS * 1_000)
const loopDelay = watchLoopDelay()
const metrics = createWorkerMetrics({ loopDelay, answerSeconds: () => answerSeconds(sql), now: Date.now })
const { processors, stop: stopProcessors } = createProcessors({
  ...stores,
  wake,
  worker: id,
  answerWithinMs: ANSWER_WITHIN_MS,
  redoMs: redoTime.ms,
  allowedHosts: config.WEBHOOK_ALLOWED_HOSTS ?? [],
  metrics,
  tracing,
  log,
  stop: stopping.signal,
})
/**
 * Concurrent jobs. Tagging is bound by the CPU; each backlog job has its own statements. A webhook
 * waits for its receiver.
 */
const CONCURRENCY: Readonly<Record<QueueName, number>> = { wake: 4, backlog: 2, removal: 2, tagging: 2, webhook: 32 }

const inHand = createJobsInHand()
const workers = config.WORKER_QUEUES.flatMap((name) => {
  const processor = processors[name]
  if (processor === undefined) return []
  const worker = openWorker(name, inHand.track(processor), {
    connection: redis,
    prefix: config.REDIS_PREFIX,
    concurrency: CONCURRENCY[name],
  })
  if (name === 'tagging') worker.on('completed', (_job, texts: unknown) => metrics.tagged(Number(texts)))
  worker.on('failed', () => metrics.failed(name))
  worker.on('error', (error) => {
    // `whenReady` logs outages of Redis.
    if (redis.status === 'ready') log('warn', 'queue_fault', { queue: name, fault: describeFault(error) })
  })
  return worker
})

const health = createHealthServer(metrics.render)
health.on('error', (error) =>
  endWith(whyNotListening(error, { host: config.WORKER_HOST, port: config.WORKER_PORT, prefix: 'WORKER_' })),
)
health.listen(config.WORKER_PORT, config.WORKER_HOST, () => {
  const address = health.address()
  log('info', 'working', { port: typeof address === 'object' ? address?.port : undefined })
})

const reporting = startReporting(
  createProcessReports(redis, config.REDIS_PREFIX),
  { id, kind: 'worker' },
  async () => ({
    ...(await metrics.figures()),
    queues: config.WORKER_QUEUES,
    allowedHosts: config.WEBHOOK_ALLOWED_HOSTS ?? [],
  }),
)

const maintenance = startMaintenance({
  ...stores,
  wake,
  redoMs: redoTime.ms,
  receiptDays: config.RECEIPT_DAYS,
  tombstoneDays: config.TOMBSTONE_DAYS,
  log,
})

let isDraining = false
const drain = async (): Promise<void> => {
  if (isDraining) return
  isDraining = true
  stopping.abort()
  maintenance.stop()
  log('info', 'draining')
  const late = setTimeout(
    () => endWith('Active jobs did not finish within SHUTDOWN_SECONDS.'),
    config.SHUTDOWN_SECONDS * 1_000,
  )
  await inHand.close(workers)
  await stopProcessors()
  redoTime.stop()
  await wake.ended()
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

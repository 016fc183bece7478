import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { openDatabase, whyNotThisDatabase } from '../db/open-database.ts'
import { whenReady, whyNotThisRedis } from '../queue/open-redis.ts'
import { answerSeconds } from '../db/answer-time.ts'
import type { RateLimit } from '../queue/admission.ts'
import { admissionsIn } from '../queue/admit.ts'
import { aliasesIn } from '../queue/aliases.ts'
import { connectProcess, endWith } from '../process/connect-process.ts'
import { watchLoopDelay } from '../process/event-loop-delay.ts'
import type { Operation } from '../contract/job.ts'
import { MAX_BATCH_BODY_BYTES } from '../contract/limits.ts'
import { describeFault } from '../process/fault.ts'
import { purgeMatcher } from './purge-matcher.ts'
import { referenceResolver } from './reference-resolver.ts'
import { conditionOf } from '../condition/condition.ts'
import { knownWorkspaces } from '../db/known-workspaces.ts'
import { countQueued } from '../queue/book-totals.ts'
import { handingOverIn, MOST_SUBMISSIONS_OF_A_JOB, watchHandOvers } from '../queue/hand-over.ts'
import { closeQueues, countWaiting, openQueues } from '../queue/job-queues.ts'
import { queuedFactsIn } from '../queue/queued-facts.ts'
import { numberFloor } from '../db/submissions/number-floor.ts'
import { processReportsIn, startReporting } from '../queue/process-reports.ts'
import type { Receipt } from '../contract/receipt.ts'
import { findReceipt, findSettled } from '../db/submissions/receipts.ts'
import { findQueuedReceipt } from '../queue/queued-receipt.ts'
import { openTracing } from '../process/open-tracing.ts'
import { connectToAnswer, onNewConnection } from '../queue/connect-redis.ts'
import { redisCondition } from '../queue/redis-condition.ts'
import { pingRedis } from '../queue/redis-servers.ts'
import { storedKeyFinder } from './submit/stored-key-finder.ts'
import { findTokenHolders, setBootstrapTokens } from '../db/tokens.ts'
import { withinTime } from '../process/within-time.ts'
import { BOARD_PATH, createApp, OVERVIEW_PATH } from './app.ts'
import { authenticator } from './authenticate.ts'
import { type FindSettled, settledAwaiter } from './submit/await-settled.ts'
import { bodiesInHand } from './submit/bodies-in-hand.ts'
import { emptyBuckets } from './submit/empty-buckets.ts'
import { createBoard } from './operators/board.ts'
import { readApiConfig } from './config.ts'
import type { OnFault } from './fault-ids.ts'
import { createMetrics } from './operators/metrics.ts'
import { keepHistory } from './operators/overview/history.ts'
import { createOverview } from './operators/overview/overview.ts'
import { watchPressure } from './submit/pressure.ts'
import { requestIdOf } from './request-id.ts'
import { isWhole, READS_TRAILERS, serve } from './serve.ts'

// A request may wait for its token and then for a look-up; it is answered within 3 s also when Redis or Postgres hangs.
const TOKEN_TIMEOUT_MS = 750
const LOOK_UP_TIMEOUT_MS = 1_250
const ANSWER_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 5_000
const MINUTE_MS = 60_000
const UNFINISHED = ['waiting', 'active', 'delayed'] as const

const { config, log, hashKey, sql, redis } = await connectProcess({
  name: 'api',
  readConfig: () => readApiConfig(process.env),
  connectPostgres: (settings, logPostgres) =>
    openDatabase(settings, { name: 'api', statementTimeoutMs: STATEMENT_TIMEOUT_MS, log: logPostgres }),
  connectRedis: ({ REDIS_URL }, logRedis) => whenReady(connectToAnswer(REDIS_URL), logRedis),
  reasonsNotToStart: [
    (stores) => whyNotThisRedis(stores.redis, stores.log),
    (stores) => whyNotThisDatabase(stores.sql, stores.hashKey),
  ],
})
await setBootstrapTokens(sql, {
  ...(config.BOOTSTRAP_ACCESS_TOKEN !== undefined && { access: config.BOOTSTRAP_ACCESS_TOKEN }),
  ...(config.BOOTSTRAP_ADMIN_TOKEN !== undefined && { admin: config.BOOTSTRAP_ADMIN_TOKEN }),
})
const tracing = await openTracing('api', config.OTEL_EXPORTER_OTLP_ENDPOINT, log)
const queues = openQueues(redis, config.REDIS_PREFIX, () => {})
const listWorkspaces = knownWorkspaces(sql, TOKEN_TIMEOUT_MS)
const stores = { sql, redis, prefix: config.REDIS_PREFIX, listWorkspaces }
const readCondition = conditionOf({ ...stores, queues: Object.values(queues) })
const loopDelay = watchLoopDelay()

const limitOf = (operation: Operation): RateLimit | undefined => {
  const tokens = operation === 'submit_conversation' ? config.CONVERSATIONS_PER_MINUTE : config.SUBMISSIONS_PER_MINUTE
  return tokens === undefined ? undefined : { tokens, windowMs: MINUTE_MS }
}

await listWorkspaces()
/** Submissions that wait: as many as there are jobs, as long as nobody has a backlog and even full jobs would not come to the bound. */
const countBacklog = async (): Promise<number> => {
  const [jobs, backlogs] = await Promise.all([countWaiting(queues), queues.backlogs.getJobCountByTypes(...UNFINISHED)])
  if (backlogs === 0 && jobs * MOST_SUBMISSIONS_OF_A_JOB < config.MAX_BACKLOG) return jobs
  const workspaceIds = (await listWorkspaces()).map(({ id }) => id)
  return countQueued(redis, config.REDIS_PREFIX, workspaceIds)
}
const pressure = watchPressure(async () => {
  const [{ usedBytes, maxBytes }, waiting] = await Promise.all([redisCondition(redis), countBacklog()])
  return { usedBytes, maxBytes, waiting }
}, config.MAX_BACKLOG)
const onFault: OnFault = (event, error, ids) => log('warn', event, { ...ids, fault: describeFault(error) })
/** Goes on evenly when the clock of the machine is set. */
const steadily = () => performance.now()
const authenticate = authenticator((hashes) => withinTime(findTokenHolders(sql, hashes), TOKEN_TIMEOUT_MS), {
  now: Date.now,
  steadily,
})
const identity = {
  sql,
  lookUpQueued: queuedFactsIn(redis, config.REDIS_PREFIX),
  ...aliasesIn(redis, config.REDIS_PREFIX),
}
const receiptOf = (workspaceId: string, id: string): Promise<Receipt | undefined> =>
  withinTime(findReceipt(sql, workspaceId, id), LOOK_UP_TIMEOUT_MS)
const stopping = new AbortController()
const handOvers = watchHandOvers(handingOverIn({ redis, prefix: config.REDIS_PREFIX, queues, stop: stopping.signal }))
const replicas = config.REDIS_REPLICAS_ACK
const admitting = replicas === 0 ? redis : await whenReady(connectToAnswer(config.REDIS_URL), log)
const floor = numberFloor(sql, steadily)
onNewConnection(admitting, floor.forget)
const admit = admissionsIn({
  redis: admitting,
  replicas,
  prefix: config.REDIS_PREFIX,
  handOver: handOvers.handOver,
  floorOf: floor.of,
  findStoredKey: storedKeyFinder(sql, LOOK_UP_TIMEOUT_MS),
})
const maxBytes = { body: config.MAX_BODY_BYTES, conversation: config.MAX_CONVERSATION_BYTES }
/** Two bodies have to fit, or one that is as large as it may be would wait until nothing else is in hand. */
const bodies = bodiesInHand(
  Math.max(config.MAX_BYTES_IN_HAND, 2 * maxBytes.body, 2 * maxBytes.conversation, 2 * MAX_BATCH_BODY_BYTES),
)
const metrics = createMetrics(readCondition, { loopDelay, bodies: bodies.figures })
const reporting = startReporting(
  processReportsIn(redis, config.REDIS_PREFIX),
  { id: randomUUID(), kind: 'api' },
  async () => metrics.figures(await answerSeconds(sql)),
)
const history = keepHistory(readCondition)
const settledInTime: FindSettled = (submissions) => withinTime(findSettled(sql, submissions), LOOK_UP_TIMEOUT_MS)

const app = createApp({
  ingress: {
    authenticate,
    isWhole,
    admit: async (request) => {
      const admission = await admit({ ...request, mostBytes: pressure.bytesLeft() })
      if (admission.outcome === 'admitted') pressure.added(request.bodyText.length)
      return admission
    },
    resolveReferences: referenceResolver(identity, LOOK_UP_TIMEOUT_MS),
    matchesPurge: purgeMatcher(identity, { hashKey, timeoutMs: LOOK_UP_TIMEOUT_MS }),
    awaitSettled: settledAwaiter(settledInTime, steadily, stopping.signal),
    bodies,
    emptyBuckets: emptyBuckets(steadily),
    pressure: pressure.current,
    limitOf,
    maxBytes,
    hashKey,
    onFault,
    count: metrics.count,
  },
  receipts: {
    authenticate,
    settled: receiptOf,
    queued: (workspaceId, id) => findQueuedReceipt({ redis, prefix: config.REDIS_PREFIX, queues }, { workspaceId, id }),
    onFault,
  },
  readsTrailers: READS_TRAILERS,
  isReady: async () => {
    if (stopping.signal.aborted) return false
    try {
      await withinTime(Promise.all([pingRedis(redis), sql`select 1`]), ANSWER_TIMEOUT_MS)
      return true
    } catch {
      return false
    }
  },
  board: createBoard({
    queues: Object.values(queues),
    basePath: BOARD_PATH,
    overviewPath: OVERVIEW_PATH,
    onFault: (error, request) => onFault('board_failed', error, { requestId: requestIdOf(request) }),
  }),
  overview: createOverview(OVERVIEW_PATH, () => ({ points: history.points(), pressure: pressure.current() })),
  corsOrigins: config.CORS_ORIGINS ?? [],
  metrics: () => withinTime(metrics.render(), ANSWER_TIMEOUT_MS),
  answered: metrics.answered,
  tracing,
  log,
})

const listening = (() => {
  try {
    return serve({ port: config.PORT, hostname: config.HOST, fetch: app.handle })
  } catch {
    return endWith(`Port ${config.PORT} on ${config.HOST} is taken. Set PORT to a free one.`)
  }
})()

const drain = async (): Promise<void> => {
  if (stopping.signal.aborted) return
  stopping.abort()
  log('info', 'draining')
  const late = setTimeout(
    () => endWith('Requests in flight were not answered within SHUTDOWN_SECONDS.'),
    config.SHUTDOWN_SECONDS * 1_000,
  )
  await listening.stop()
  await handOvers.ended()
  pressure.stop()
  history.stop()
  loopDelay.stop()
  await reporting.stop()
  await tracing?.stop()
  await closeQueues(queues)
  redis.disconnect()
  admitting.disconnect()
  await sql.end({ timeout: 5 })
  clearTimeout(late)
  process.exit(0)
}
process.on('SIGTERM', () => void drain())
process.on('SIGINT', () => void drain())
// This line comes last, since whoever reads it may end the process at once.
log('info', 'listening', { host: config.HOST, port: listening.port })

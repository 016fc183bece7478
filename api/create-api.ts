import { randomUUID } from 'node:crypto'
import { createReadCondition, type ReadCondition } from '../health/condition.ts'
import { answerSeconds } from '../db/connection/answer-time.ts'
import { readChanges } from '../db/reads/changes.ts'
import { countFeedback } from '../db/reads/counts.ts'
import { readList } from '../db/reads/lists.ts'
import { currentId, readRecords } from '../db/reads/records.ts'
import { withStoredHashes } from '../db/reads/search.ts'
import { listFields, listSources, setSource as storeSource } from '../db/sources.ts'
import { findReceipt } from '../db/submissions/receipts.ts'
import { atFirstUse } from '../runtime/at-first-use.ts'
import { watchLoopDelay } from '../runtime/event-loop-delay.ts'
import { describeFault } from '../runtime/fault.ts'
import { FairSemaphore } from '../runtime/fair-semaphore.ts'
import { METRICS_TYPE } from '../runtime/metrics.ts'
import { withinTime } from '../runtime/within-time.ts'
import { closeQueues, createWake, type JobQueues, openQueues } from '../queue/jobs/job-queues.ts'
import { createLog } from '../queue/log/log.ts'
import { createProcessReports, startReporting } from '../queue/jobs/process-reports.ts'
import { readRedisCondition } from '../queue/redis/redis-condition.ts'
import { pingRedis } from '../queue/redis/redis-servers.ts'
import { type AppDependencies, BASE_PATH, BOARD_PATH, createApp, OVERVIEW_PATH } from './app.ts'
import { CAPABILITIES } from './capabilities.ts'
import { createIntake, mostBytesInHand, type Resources } from './create-intake.ts'
import { type OnFault, requestIdOf } from './http/request-id.ts'
import { createMetrics } from './operators/metrics.ts'
import { keepHistory } from './operators/overview/history.ts'
import { createOverview } from './operators/overview/overview.ts'
import type { ReadDependencies } from './reads/reads.ts'
import { createReadsInHand } from './reads/reads-in-hand.ts'
import { withinQueryTime } from './within-query-time.ts'
import { type Handler, READS_TRAILERS } from './serve.ts'
import { createBodiesInHand } from './http/bodies-in-hand.ts'
import { countWaiting, type PressureWatch, watchPressure } from './submit/pressure.ts'
import type { IntakeDependencies } from './submit/intake.ts'

/** `/readyz` answers within seconds even when Redis or Postgres hangs. */
const READY_WITHIN_MS = 2_000

type Api = {
  handle: Handler
  /**
   * Prepares the end of the process: `/readyz` answers 503, and requests stop waiting for
   * submissions and changes.
   */
  drain: () => void
  /** Ends the background work. Call it when all requests are answered. */
  stop: () => Promise<void>
}

/** Builds the API, and starts its background work. */
export const createApi = async (resources: Resources): Promise<Api> => {
  const { config, log, sql, redis } = resources
  const stopping = new AbortController()
  const stores = { sql, redis, prefix: config.REDIS_PREFIX }
  const queues = openQueues(redis, stores.prefix)
  const wake = createWake(queues)
  const bodies = createBodiesInHand(mostBytesInHand(config))
  const pressure = pressureOf({ ...stores, queues }, config.MAX_BACKLOG)
  const onFault: OnFault = (event, error, ids) => log('warn', event, { ...ids, fault: describeFault(error) })
  const readCondition = createReadCondition({ ...stores, queues: Object.values(queues) })
  const { metrics, history, stopObserving } = observe(resources, readCondition, bodies.figures)
  const shared = { bodies, pressure, onFault, count: metrics.count, wake, stop: stopping.signal }
  const intake = createIntake(resources, shared)
  const reads = createReadDependencies(resources, intake, stopping.signal)
  const setSource = setSourceIn(resources)
  const parts = { basePath: BASE_PATH, resources, counter: metrics.counter }
  const app = createApp({
    intake,
    reads,
    setSource,
    capabilities: CAPABILITIES.map(({ open }) => open({ ...parts, intake, reads, setSource })),
    receipts: { authenticate: intake.authenticate, ...createReceiptSources(resources), onFault },
    isReady: () => isReady(resources, stopping.signal),
    board: boardOf(queues, onFault),
    overview: createOverview(OVERVIEW_PATH, () => ({ points: history.points(), pressure: pressure.current() })),
    metrics: async () => new Response(await metrics.render(), { headers: { 'Content-Type': METRICS_TYPE } }),
    answered: metrics.answered,
    readsTrailers: READS_TRAILERS,
    corsOrigins: config.CORS_ORIGINS ?? [],
    tracing: resources.tracing,
    log,
  })
  const stop = async (): Promise<void> => {
    await wake.ended()
    pressure.stop()
    await stopObserving()
    await closeQueues(queues)
  }
  return { handle: app.handle, drain: () => stopping.abort(), stop }
}

const pressureOf = (stores: Parameters<typeof countWaiting>[0], mostWaiting: number): PressureWatch =>
  watchPressure(async () => {
    const counting = countWaiting(stores, mostWaiting)
    const [{ usedBytes, maxBytes }, waiting] = await Promise.all([readRedisCondition(stores.redis), counting])
    return { usedBytes, maxBytes, waiting }
  }, mostWaiting)

/** If further reads of the workspace wait, a read of N ms keeps its permit for N ms more. */
const READ_REST = 1

const createReadDependencies = (
  { config, readingSql: sql }: Resources,
  { authenticate, hashKey, onFault }: Pick<IntakeDependencies, 'authenticate' | 'hashKey' | 'onFault'>,
  stop: AbortSignal,
): ReadDependencies => {
  const permits = new FairSemaphore(Infinity, config.READS_AT_ONCE, READ_REST)
  const { whenBytesFit, takeAnswer } = createReadsInHand(() => performance.now())
  return {
    authenticate,
    hashKey,
    permits,
    whenBytesFit,
    countPermits: new FairSemaphore(Infinity, 1, READ_REST),
    takeAnswer: (answer) => {
      const ends = [takeAnswer(answer), permits.take({ workspaceId: answer.workspaceId, permits: 1 })]
      return () => ends.forEach((end) => end())
    },
    onFault,
    stop,
    readRecord: async (workspaceId, name) => (await withinQueryTime(readRecords(sql, workspaceId, [name])))[0],
    currentId: (workspaceId, name) => withinQueryTime(currentId(sql, workspaceId, name)),
    countFeedback: (request) => withinQueryTime(countFeedback(sql, withStoredHashes(hashKey, request))),
    readList: (request) => withinQueryTime(readList(sql, withStoredHashes(hashKey, request))),
    listSources: (...asked) => withinQueryTime(listSources(sql, ...asked)),
    listFields: (workspaceId) => withinQueryTime(listFields(sql, workspaceId)),
    readChanges: (workspaceId, wanted) => withinQueryTime(readChanges(sql, workspaceId, wanted)),
  }
}

const setSourceIn =
  ({ sql }: Resources): AppDependencies['setSource'] =>
  (...asked) =>
    withinQueryTime(storeSource(sql, ...asked))

/** Few processes show the board, which takes long to load. */
const boardOf = (queues: JobQueues, onFault: OnFault): Handler => {
  const open = atFirstUse(async () => {
    const { createBoard } = await import('./operators/board.ts')
    return createBoard({
      queues: Object.values(queues),
      basePath: BOARD_PATH,
      overviewPath: OVERVIEW_PATH,
      onFault: (error, request) => onFault('board_failed', error, { requestId: requestIdOf(request) }),
    })
  })
  return async (request) => (await open())(request)
}

/**
 * The metrics of this process and of the installation, the history for the overview, and reports to
 * the other processes.
 */
const observe = (
  { config, sql, redis }: Resources,
  readCondition: ReadCondition,
  bodies: ReturnType<typeof createBodiesInHand>['figures'],
) => {
  const loopDelay = watchLoopDelay()
  const metrics = createMetrics(readCondition, { loopDelay, bodies })
  const history = keepHistory(readCondition)
  const reporting = startReporting(
    createProcessReports(redis, config.REDIS_PREFIX),
    { id: randomUUID(), kind: 'api' },
    async () => metrics.figures(await answerSeconds(sql)),
  )
  const stopObserving = async (): Promise<void> => {
    history.stop()
    loopDelay.stop()
    await reporting.stop()
  }
  return { metrics, history, stopObserving }
}

const createReceiptSources = ({
  config,
  sql,
  redis,
}: Resources): Pick<AppDependencies['receipts'], 'findStored' | 'findQueued'> => {
  const { findQueued } = createLog(redis, config.REDIS_PREFIX)
  return {
    findStored: (workspaceId, id) => withinQueryTime(findReceipt(sql, workspaceId, id)),
    findQueued,
  }
}

const isReady = async ({ redis, sql }: Resources, stop: AbortSignal): Promise<boolean> => {
  if (stop.aborted) return false
  try {
    await withinTime(Promise.all([pingRedis(redis), sql`select 1`]), READY_WITHIN_MS)
    return true
  } catch {
    return false
  }
}

import * as v from 'valibot'
import { createSharedStrideStore } from '../db/apply/stride-store.ts'
import { type QueueName, removalJob, taggingJob, wakeJob, webhookJob } from '../contract/jobs.ts'
import { type DeliveredJob, unrecoverable, withoutCause } from '../queue/jobs/open-worker.ts'
import { createPutOffTagging } from '../queue/jobs/put-off-tagging.ts'
import type { Wake } from '../queue/jobs/job-queues.ts'
import { describeFault } from '../runtime/fault.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { createApplyLogs } from './apply/apply-log.ts'
import { createStrideSizes } from './apply/stride-size.ts'
import type { createWorkerMetrics } from './metrics.ts'
import { createQuarantine } from './quarantine.ts'
import { removePurged } from './remove-purged.ts'
import type { WorkerStores } from './config.ts'
import { createLearningPace } from './tagging/learning-pace.ts'
import { tag } from './tagging/tagging.ts'
import { beginTagging } from './trace-jobs.ts'
import { deliver, deliverTest } from './webhooks/deliver.ts'
import { createPlaces, type Places } from './webhooks/places.ts'
import { whenAvailable } from './when-available.ts'

type Dependencies = WorkerStores & {
  wake: Wake
  /** The id of this worker. */
  worker: string
  answerWithinMs: number
  redoMs: () => number
  /** Hosts of webhooks that may have addresses outside the public internet. */
  allowedHosts: readonly string[]
  metrics: Pick<ReturnType<typeof createWorkerMetrics>, 'settled' | 'purged' | 'applyTime' | 'trackDeep'>
  tracing: Tracing | undefined
  log: Logger
  /** Aborted when the process is to end. Then no job waits for Postgres to come back. */
  stop: AbortSignal
}

/** Processes a job of one queue. BullMQ keeps the result with the job. */
export type Processor = (job: DeliveredJob) => Promise<unknown>

/** The processors of all queues. `stop` ends work that no job waits for. */
export const createProcessors = (
  dependencies: Dependencies,
): Readonly<Record<QueueName, Processor>> & { stop: () => Promise<void> } => {
  const { queues, metrics } = dependencies
  const quarantine = createQuarantine()
  const places = createPlaces()
  const applying = createApplyLogs({
    ...dependencies,
    quarantine,
    strideSizes: createStrideSizes(),
    sharedStore: createSharedStrideStore(dependencies.sql),
    attempts: new Map(),
    purgedWorkspaces: new Set(),
    addTagging: createPutOffTagging(queues),
    pace: createLearningPace(() => performance.now()),
    onSettled: metrics.settled,
    onApplyTime: metrics.applyTime,
    now: () => performance.now(),
    mustBacklogYield: async () => (await queues.backlog.getWaitingCount()) > 0 || (await queues.backlog.isPaused()),
  })
  return {
    wake: async (job) => applying.apply(dataOf(job, wakeJob).workspaceIds, false),
    backlog: (job) => metrics.trackDeep(async () => applying.apply(dataOf(job, wakeJob).workspaceIds, true)),
    removal: (job) => quarantine.shared(() => runRemoval(dependencies, job)),
    tagging: (job) => quarantine.shared(() => runTagging(dependencies, job)),
    webhook: (job) => deliverChanges({ ...dependencies, places }, job),
    stop: applying.stop,
  }
}

const dataOf = <S extends v.GenericSchema>(job: DeliveredJob, schema: S): v.InferOutput<S> => {
  const parsed = v.safeParse(schema, job.data)
  if (!parsed.success) throw unrecoverable(`The data of this job does not fit the queue ${job.queueName}.`)
  return parsed.output
}

/** Removes the records of a decided purge. If the job fails for good, maintenance adds it again. */
const runRemoval = async (dependencies: Dependencies, job: DeliveredJob): Promise<string> => {
  const purge = { ...dataOf(job, removalJob), attempts: attemptOf(job) }
  const onProgress = (removed: number): Promise<void> => job.updateProgress({ removed })
  const removal = await attempt(dependencies, { job, ids: purge }, () => removePurged(dependencies, purge, onProgress))
  if (removal !== undefined) dependencies.metrics.purged(removal, purge.attempts)
  return 'done'
}

/** Tags the records of a job, or learns from them. Returns how many records it stored. */
const runTagging = async (dependencies: Dependencies, job: DeliveredJob): Promise<number> => {
  const data = dataOf(job, taggingJob)
  const ids = { jobId: job.id, workspaceId: data.workspaceId }
  const spans = dependencies.tracing && beginTagging(dependencies.tracing, data, attemptOf(job))
  const onFault = (fault: string): void => spans?.forEach((span) => span.fail(fault))
  try {
    return await attempt(dependencies, { job, ids, onFault }, () => tag(dependencies, data))
  } finally {
    spans?.forEach((span) => span.end())
  }
}

/**
 * Delivers to the webhook of a job. Returns how many changes it delivered, or the outcome of a
 * test. Without a free place, it delivers none, and maintenance adds a job again.
 */
const deliverChanges = (
  dependencies: Dependencies & { places: Places },
  job: DeliveredJob,
): Promise<number | string> => {
  const { workspaceId, webhookId, isTest } = dataOf(job, webhookJob)
  const named = { workspaceId, id: webhookId }
  const work = async (): Promise<number | string> =>
    isTest
      ? deliverTest(dependencies, named)
      : ((await dependencies.places.inPlace(workspaceId, () => deliver(dependencies, named))) ?? 0)
  return attempt(dependencies, { job, ids: { workspaceId, webhookId } }, work)
}

const attemptOf = (job: DeliveredJob): number => job.attemptsMade + 1

/**
 * Does the work of a job, and repeats it until no outage of Postgres interrupts it. Logs the failure
 * that ends the attempt.
 */
const attempt = async <T>(
  { log, stop }: Dependencies,
  {
    job,
    ids,
    onFault,
  }: { job: DeliveredJob; ids: Readonly<Record<string, unknown>>; onFault?: (fault: string) => void },
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await whenAvailable(work, stop)
  } catch (error) {
    const fault = describeFault(error)
    log('error', 'job_failed', { queue: job.queueName, attempts: attemptOf(job), ...ids, fault })
    onFault?.(fault)
    throw withoutCause(fault)
  }
}

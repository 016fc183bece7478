import { createSharedStrideStore } from '../db/apply/stride-store.ts'
import { type QueueName, removalJob, taggingJob, wakeJob } from '../contract/jobs.ts'
import type { DeliveredJob } from '../queue/jobs/open-worker.ts'
import { createPutOffTagging } from '../queue/jobs/put-off-tagging.ts'
import type { Wake } from '../queue/jobs/job-queues.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { createApplyLogs } from './apply/apply-log.ts'
import { createStrideSizes } from './apply/stride-size.ts'
import { CAPABILITIES } from './capabilities.ts'
import type { ProcessorDependencies } from './capability.ts'
import type { createWorkerMetrics } from './metrics.ts'
import { attempt, attemptOf, dataOf, type Processor } from './process-job.ts'
import { createQuarantine } from './quarantine.ts'
import { removePurged } from './remove-purged.ts'
import { createLearningPace } from './tagging/learning-pace.ts'
import { tag } from './tagging/tagging.ts'
import { beginTagging } from './trace-jobs.ts'

type Dependencies = ProcessorDependencies & {
  wake: Wake
  /** The id of this worker. */
  worker: string
  answerWithinMs: number
  redoMs: () => number
  metrics: Pick<ReturnType<typeof createWorkerMetrics>, 'settled' | 'purged' | 'applyTime' | 'trackDeep'>
  tracing: Tracing | undefined
}

/** The processors by queue. `stop` ends work that no job waits for. */
export const createProcessors = (
  dependencies: Dependencies,
): { processors: Readonly<Partial<Record<QueueName, Processor>>>; stop: () => Promise<void> } => {
  const { queues, metrics } = dependencies
  const quarantine = createQuarantine()
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
  const own: Readonly<Record<Exclude<QueueName, 'webhook'>, Processor>> = {
    wake: async (job) => applying.apply(dataOf(job, wakeJob).workspaceIds, false),
    backlog: (job) => metrics.trackDeep(async () => applying.apply(dataOf(job, wakeJob).workspaceIds, true)),
    removal: (job) => quarantine.shared(() => runRemoval(dependencies, job)),
    tagging: (job) => quarantine.shared(() => runTagging(dependencies, job)),
  }
  const others = CAPABILITIES.flatMap(({ createProcessors: create }) => Object.entries(create?.(dependencies) ?? {}))
  return { processors: { ...own, ...Object.fromEntries(others) }, stop: applying.stop }
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

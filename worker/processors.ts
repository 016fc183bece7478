import * as v from 'valibot'
import { wakeJob } from '../contract/jobs.ts'
import type { QueueName } from '../contract/queues.ts'
import { type DeliveredJob, unrecoverable } from '../queue/jobs/open-worker.ts'
import { createLog } from '../queue/log/log.ts'
import type { Wake } from '../queue/jobs/wake.ts'
import { createApplyLogs } from './apply/apply-log.ts'
import { createStrideSizes } from './apply/stride-size.ts'
import type { Processor, WorkerDependencies } from './dependencies.ts'
import type { createWorkerMetrics } from './metrics.ts'
import { createQuarantine } from './quarantine.ts'
import { createRemovalProcessor } from './removal-processor.ts'
import { createLearningPace } from './tagging/learning-pace.ts'
import { createTaggingProcessor } from './tagging/tagging-processor.ts'
import { createWebhookProcessor } from './webhooks/webhook-processor.ts'

type Given = WorkerDependencies & {
  wake: Wake
  /** The id of this worker. */
  worker: string
  answerWithinMs: number
  redoMs: () => number
  /** Hosts of webhooks that may have addresses outside the public internet. */
  allowedHosts: readonly string[]
  metrics: Pick<ReturnType<typeof createWorkerMetrics>, 'settled' | 'purged' | 'applyTime' | 'deep'>
}

/** The processors of all queues. `stop` ends the renewal of leases. */
export const createProcessors = (given: Given): Readonly<Record<QueueName, Processor>> & { stop: () => void } => {
  const { redis, prefix, queues, metrics } = given
  const quarantine = createQuarantine()
  const logs = createApplyLogs({
    ...given,
    logs: createLog(redis, prefix),
    quarantine,
    strideSizes: createStrideSizes(),
    attempts: new Map(),
    purgedWorkspaces: new Set(),
    pace: createLearningPace(() => performance.now()),
    onSettled: metrics.settled,
    onApplyTime: metrics.applyTime,
    now: () => performance.now(),
    othersWait: async () => (await queues.backlog.getWaitingCount()) > 0 || (await queues.backlog.isPaused()),
  })
  const removal = createRemovalProcessor({ ...given, onPurged: metrics.purged })
  const tagging = createTaggingProcessor(given)
  return {
    wake: (job) => logs.apply(workspacesOf(job), false),
    backlog: (job) => metrics.deep(() => logs.apply(workspacesOf(job), true)),
    removal: (job) => quarantine.shared(() => removal(job)),
    tagging: (job) => quarantine.shared(() => tagging(job)),
    webhook: createWebhookProcessor(given),
    stop: logs.stop,
  }
}

const workspacesOf = (job: DeliveredJob): string[] => {
  const parsed = v.safeParse(wakeJob, job.data)
  if (!parsed.success) throw unrecoverable('The data of this job does not fit its queue.')
  return parsed.output.workspaceIds
}

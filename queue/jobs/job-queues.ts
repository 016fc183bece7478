import { type Job, Queue } from 'bullmq'
import { QUEUE_NAMES, type QueueName, type RemovalJob, type TaggingJob, type WebhookJob } from '../../contract/jobs.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { coalesce } from '../../runtime/coalesce.ts'

/** The approximate length of a queue's event stream. No process reads the stream. */
const EVENTS_KEPT = 1_000
/** How many finished jobs a queue keeps, and for how many seconds. */
export const FINISHED_JOBS_KEPT = { count: 1_000, age: 3_600 } as const
const ATTEMPTS = 8
const FIRST_RETRY_MS = 500

/** For all jobs but those of webhooks: Postgres has the time of a webhook's next attempt. */
const RETRY_OPTIONS = {
  attempts: ATTEMPTS,
  backoff: { type: 'exponential', delay: FIRST_RETRY_MS, jitter: 0.5 },
} as const

/** The hash tag keeps the keys of a queue in one slot of a cluster. */
export const queuePrefix = (prefix: string, queue: QueueName): string => `{${prefix}:queue:${queue}}`

export type JobQueue = Queue
export type JobQueues = Readonly<Record<QueueName, JobQueue>>

/** The queues for producers and dashboards. The caller closes the connection. */
export const openQueues = (connection: RedisClient, prefix: string): JobQueues => {
  const open = (name: QueueName): Queue => {
    const queue = new Queue(name, {
      connection,
      prefix: queuePrefix(prefix, name),
      skipWaitingForReady: true,
      streams: { events: { maxLen: EVENTS_KEPT } },
    })
    // The owner of the connection handles its faults. Without a listener, BullMQ prints each.
    queue.on('error', () => {})
    return queue
  }
  return Object.fromEntries(QUEUE_NAMES.map((name) => [name, open(name)])) as unknown as JobQueues
}

export const closeQueues = async (queues: JobQueues): Promise<void> => {
  await Promise.all(Object.values(queues).map((queue) => queue.close()))
}

/** Adds a job for each decided purge with records to remove, unless the purge has one. */
export const addRemovals = async (queues: JobQueues, removals: readonly RemovalJob[]): Promise<void> => {
  if (removals.length === 0) return
  await queues.removal.addBulk(
    removals.map((data) => ({
      name: 'remove_purged',
      data,
      opts: { ...RETRY_OPTIONS, deduplication: { id: data.purgeId } },
    })),
  )
}

/** Adds a job for each webhook, unless the webhook has one. */
export const addDeliveries = async (queues: JobQueues, deliveries: readonly WebhookJob[]): Promise<void> => {
  if (deliveries.length === 0) return
  await queues.webhook.addBulk(
    deliveries.map((data) => ({ name: 'deliver_changes', data, opts: { deduplication: { id: data.webhookId } } })),
  )
}

/** Adds a job that sends a test message to a webhook. Returns the id of the job. */
export const addWebhookTest = async (queues: JobQueues, named: Omit<WebhookJob, 'isTest'>): Promise<string> =>
  (await queues.webhook.add('test_webhook', { ...named, isTest: true })).id!

/** The outcome of a test; undefined until the test has ended. */
export const findWebhookTestOutcome = async (queues: JobQueues, id: string): Promise<string | undefined> => {
  const end = await readEnd(queues.webhook, id)
  if (end === 'failed' || end === 'removed') return 'the job failed'
  return typeof end?.result === 'string' ? end.result : undefined
}

/** How a job ended; undefined until then. */
const readEnd = async (
  queue: JobQueue,
  id: string,
): Promise<'failed' | 'removed' | { result: unknown } | undefined> => {
  const job: Job | undefined = await queue.getJob(id)
  if (job === undefined) return 'removed'
  if (await job.isFailed()) return 'failed'
  if (!(await job.isCompleted())) return undefined
  // The job is read again, since it may have ended after the first read.
  const ended: Job | undefined = await queue.getJob(id)
  return { result: ended?.returnvalue }
}

/** Adds tagging jobs that begin after `delay` milliseconds. */
export const addTagging = async (queues: JobQueues, jobs: readonly TaggingJob[], delay = 0): Promise<Job[]> => {
  if (jobs.length === 0) return []
  return queues.tagging.addBulk(
    jobs.map((job) => ({ name: 'generate_tags', data: job, opts: { ...RETRY_OPTIONS, delay } })),
  )
}

const CONVERSATIONS_PER_JOB = 500

/** Adds tagging jobs for any number of conversations. */
export const addConversationTagging = async (
  queues: JobQueues,
  workspaceId: string,
  ids: readonly string[],
): Promise<void> => {
  for (let at = 0; at < ids.length; at += CONVERSATIONS_PER_JOB) {
    const conversationIds = ids.slice(at, at + CONVERSATIONS_PER_JOB)
    await addTagging(queues, [{ workspaceId, feedbackIds: [], conversationIds }])
  }
}

/**
 * The outcome of a tagging job; undefined until the job has ended. `tagged`: how many records the
 * job stored, if known. A job that BullMQ has removed counts as successful.
 */
export const findTaggingOutcome = async (
  queues: JobQueues,
  id: string,
): Promise<{ failed: boolean; tagged: number | undefined } | undefined> => {
  const end = await readEnd(queues.tagging, id)
  if (end === 'removed') return { failed: false, tagged: undefined }
  if (end === 'failed') return { failed: true, tagged: 0 }
  return end && { failed: false, tagged: typeof end.result === 'number' ? end.result : undefined }
}

/** `isDeep`: much waits in the log, or its strides are short. */
export type WakeSize = { submissions: number; isDeep: boolean }

export type Wake = {
  /**
   * Adds a job that makes a worker apply the log. Never rejects: maintenance repeats a lost wake.
   */
  wake: (workspaceId: string, size: WakeSize) => Promise<void>
  /** Resolves when all pending wakes have ended. */
  ended: () => Promise<unknown>
}

/** A job costs nearly the same for one workspace and for many. */
const JOB_EVERY_MS = 50
const WORKSPACES_OF_A_JOB = 100
const WAKES_AT_ONCE = 10_000

type WakeRequest = { workspaceId: string } & WakeSize

/**
 * Wakes within `JOB_EVERY_MS` share jobs. The first wake after a pause adds its job immediately.
 */
export const createWake = (queues: JobQueues): Wake => {
  const requestWake = coalesce<WakeRequest, void>(
    async (requests) => {
      await Promise.all([
        addSharedJobs(
          queues,
          requests.filter(({ isDeep }) => !isDeep),
        ),
        addDeepJobs(
          queues,
          requests.filter(({ isDeep }) => isDeep),
        ),
      ])
      return []
    },
    { items: WAKES_AT_ONCE, everyMs: JOB_EVERY_MS },
  )
  const underWay = new Set<Promise<void>>()
  return {
    wake: (workspaceId, size) => {
      const woken = requestWake({ workspaceId, ...size })
        .catch(() => {})
        .finally(() => underWay.delete(woken))
      underWay.add(woken)
      return woken
    },
    ended: () => Promise.all(underWay),
  }
}

const addSharedJobs = async (queues: JobQueues, requests: readonly WakeRequest[]): Promise<void> => {
  const counts = [...sumByWorkspace(requests)]
  const jobs = Array.from({ length: Math.ceil(counts.length / WORKSPACES_OF_A_JOB) }, (_, at) =>
    counts.slice(at * WORKSPACES_OF_A_JOB, (at + 1) * WORKSPACES_OF_A_JOB),
  )
  if (jobs.length > 0) await queues.wake.addBulk(jobs.map((part) => jobOf(part)))
}

/**
 * Each workspace has a job of its own, so that a long log does not delay another log. While a job
 * waits to begin, its workspace gets no second one: `openWorker` removes the deduplication key when
 * the job begins.
 */
const addDeepJobs = async (queues: JobQueues, requests: readonly WakeRequest[]): Promise<void> => {
  const counts = [...sumByWorkspace(requests)]
  if (counts.length === 0) return
  await queues.backlog.addBulk(counts.map((count) => jobOf([count], { deduplication: { id: count[0] } })))
}

const sumByWorkspace = (requests: readonly WakeRequest[]): Map<string, number> => {
  const sums = new Map<string, number>()
  for (const { workspaceId, submissions } of requests) {
    sums.set(workspaceId, (sums.get(workspaceId) ?? 0) + submissions)
  }
  return sums
}

const jobOf = (counts: readonly (readonly [workspaceId: string, submissions: number])[], options = {}) => ({
  name: describe(
    counts.length,
    counts.reduce((sum, [, submissions]) => sum + submissions, 0),
  ),
  data: { workspaceIds: counts.map(([workspaceId]) => workspaceId) },
  opts: { ...RETRY_OPTIONS, ...options },
})

const describe = (workspaces: number, submissions: number): string =>
  `${withNoun(workspaces, 'workspace')}, ${withNoun(submissions, 'submission')}`

const withNoun = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

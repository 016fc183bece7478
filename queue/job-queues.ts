import { type Job, Queue } from 'bullmq'
import { type Operation, QUEUE_OF, type SettledJob, type SubmissionJob, type TaggingJob } from '../contract/job.ts'
import { JOB_OPTIONS, QUEUE_NAMES, type QueueName, queuePrefix } from '../contract/queues.ts'
import { coalesce } from '../process/coalesce.ts'
import type { RedisClient } from './connect-redis.ts'
import { type AddedJob, addJobsIn } from './jobs-at-once.ts'
import { luaScript } from './lua-script.ts'

/** The queues that carry submissions: all but the one for tagging. */
export const SUBMISSION_QUEUES: readonly QueueName[] = [...new Set(Object.values(QUEUE_OF))]

/** Entries that a queue's event stream keeps, roughly; nothing reads it. */
const EVENTS_KEPT = 1_000

export type JobQueue = Queue
export type JobQueues = Readonly<Record<QueueName, JobQueue>>

/** The queues as producers and dashboards use them. The caller closes the connection. */
export const openQueues = (connection: RedisClient, prefix: string, onError: (error: Error) => void): JobQueues => {
  const open = (name: QueueName): Queue => {
    const queue = new Queue(name, {
      connection,
      prefix: queuePrefix(prefix, name),
      skipWaitingForReady: true,
      streams: { events: { maxLen: EVENTS_KEPT } },
    })
    queue.on('error', onError)
    return queue
  }
  return Object.fromEntries(QUEUE_NAMES.map((name) => [name, open(name)])) as unknown as JobQueues
}

export const closeQueues = async (queues: JobQueues): Promise<void> => {
  await Promise.all(Object.values(queues).map((queue) => queue.close()))
}

/** What one call queues at most, in jobs and in characters: Redis answers nobody else meanwhile. */
const QUEUED_AT_ONCE = { items: 100, weight: { most: 1_000_000, of: ({ data }: AddedJob): number => data.length } }

/** What an admission needs of the queues. */
export type Queueing = {
  /** `text` is the submission's job as JSON. */
  enqueue: (submission: Pick<SubmissionJob, 'operation' | 'submissionId'> & { text: string }) => Promise<void>
  /** Whether the job of a submission is in its queue: waiting, in hand, to be tried again, or finished a moment ago. */
  isQueued: (submission: Pick<SubmissionJob, 'workspaceId' | 'operation' | 'submissionId'>) => Promise<boolean>
  /** How the names of an operation's queue begin in Redis. */
  namesOf: (operation: Operation) => string
}

/**
 * Queues admitted submissions under their own ids, so that doing it twice queues them once. Submissions that come at the same time share
 * a call: each of twenty together costs Redis 9 µs, one alone 30 µs.
 */
export const queueingIn = (redis: RedisClient, queues: JobQueues): Queueing => {
  const addTo = Object.fromEntries(
    QUEUE_NAMES.map((name) => {
      const addJobs = addJobsIn(redis, (key) => queues[name].toKey(key))
      const add = coalesce<AddedJob, void>(async (jobs) => {
        await addJobs(jobs)
        return []
      }, QUEUED_AT_ONCE)
      return [name, add]
    }),
  )
  const namesOf = (operation: Operation): string => queues[QUEUE_OF[operation]].toKey('')
  return {
    enqueue: ({ operation, submissionId, text }) =>
      addTo[QUEUE_OF[operation]]!({ id: submissionId, name: operation, data: text }),
    isQueued: async ({ operation, submissionId }) => (await redis.exists(namesOf(operation) + submissionId)) === 1,
    namesOf,
  }
}

/** Queues submissions that have a number already. */
export const submissionEnqueuer = (redis: RedisClient, queues: JobQueues) => {
  const { enqueue } = queueingIn(redis, queues)
  return (job: SubmissionJob): Promise<void> =>
    enqueue({ operation: job.operation, submissionId: job.submissionId, text: JSON.stringify(job) })
}

type Settled = Omit<SettledJob, 'settled'>

/** How begins what is left of a settled submission's job; lua/functions/body-left.lua completes it. */
export const leftBegins = ({ version, operation, workspaceId }: Settled): string => {
  const left: Omit<SettledJob, 'number' | 'submissionId'> = { version, operation, workspaceId, settled: true }
  return JSON.stringify(left).slice(0, -1)
}

const FORGET_BODIES = luaScript('forget-bodies', ['body-left'])

type WithForgetBodies = { forgetBodies(numberOfKeys: number, ...rest: (string | number)[]): Promise<0> }

export type ForgetBodies = (settled: readonly Settled[]) => Promise<void>

/**
 * Takes the submitted body out of the jobs of settled submissions: finished jobs are kept for operators for a while, and then hold nothing
 * that a purge would have to find.
 */
export const forgetBodiesIn = (redis: RedisClient, queues: JobQueues): ForgetBodies => {
  redis.defineCommand('forgetBodies', { lua: FORGET_BODIES })
  const withForgetBodies = redis as RedisClient & WithForgetBodies
  return async (settled) => {
    const alike = Map.groupBy(
      settled,
      ({ version, operation, workspaceId }) => `${version} ${operation} ${workspaceId}`,
    )
    await Promise.all(
      [...alike.values()].map((jobs) => {
        const each = jobs.flatMap(({ number, submissionId }) => [number, submissionId])
        const names = queues[QUEUE_OF[jobs[0]!.operation]].toKey('')
        return withForgetBodies.forgetBodies(1, names, leftBegins(jobs[0]!), ...each)
      }),
    )
  }
}

const BRING_FORWARD = luaScript('bring-forward')

/**
 * Moves submissions that wait to the front of their queues: a submission that is tried again has lost its place. Returns how many were
 * moved in each queue.
 */
export const bringForward = async (
  redis: RedisClient,
  queues: JobQueues,
  submissionIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (submissionIds.length === 0) return new Map()
  return new Map(
    await Promise.all(
      SUBMISSION_QUEUES.map(async (name): Promise<[string, number]> => {
        const moved = await redis.eval(BRING_FORWARD, 1, queues[name].toKey('wait'), ...submissionIds)
        return [name, Number(moved)]
      }),
    ),
  )
}

/** Returns the ids of the jobs. */
export const enqueueTagging = async (queues: JobQueues, jobs: readonly TaggingJob[]): Promise<string[]> => {
  if (jobs.length === 0) return []
  const added = await queues.tagging.addBulk(
    jobs.map((job) => ({ name: 'generate_tags', data: job, opts: JOB_OPTIONS })),
  )
  return added.flatMap(({ id }) => id ?? [])
}

/** How a tagging job ended, and how many records it kept; undefined while it has not ended. A job that is gone ended well. */
export const taggingOutcome = async (
  queues: JobQueues,
  id: string,
): Promise<{ failed: boolean; kept: number | undefined } | undefined> => {
  const job: Job<TaggingJob, number> | undefined = await queues.tagging.getJob(id)
  if (job === undefined) return { failed: false, kept: undefined }
  if (await job.isFailed()) return { failed: true, kept: 0 }
  if (!(await job.isCompleted())) return undefined
  // The job is read again, since it may have ended after the first reading.
  const ended: Job<TaggingJob, number> | undefined = await queues.tagging.getJob(id)
  return { failed: false, kept: ended?.returnvalue }
}

/** How many jobs wait in all queues together. */
export const countWaiting = async (queues: JobQueues): Promise<number> => {
  const counts = await Promise.all(Object.values(queues).map((queue) => queue.getJobCountByTypes('waiting', 'delayed')))
  return counts.reduce((sum, count) => sum + count, 0)
}

import { type Job, Queue } from 'bullmq'
import { coalesce } from '../process/coalesce.ts'
import { type AddedJob, addJobsIn } from './jobs-at-once.ts'
import type { RedisClient } from './redis.ts'
import { type Operation, QUEUE_OF, type SettledJob, type SubmissionJob, type TaggingJob } from '../contract/job.ts'
import { JOB_OPTIONS, QUEUE_NAMES, type QueueName, queuePrefix } from '../contract/queues.ts'

/** Entries that a queue's event stream keeps, roughly; nothing of the product reads it. */
const EVENTS_KEPT = 1_000

export type JobQueue = Queue
export type JobQueues = Readonly<Record<QueueName, JobQueue>>

/** The queues as producers and dashboards use them. The connection stays the caller's to close. */
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

/** Jobs that one call queues at most, and their characters together: Redis answers nobody else meanwhile. */
const QUEUED_AT_ONCE = { items: 100, weight: { most: 1_000_000, of: ({ data }: AddedJob): number => data.length } }

export type EnqueueSubmission = (job: SubmissionJob) => Promise<void>

/** Of a submission: its job as JSON text. */
type JobToQueue = Pick<SubmissionJob, 'operation' | 'submissionId'> & { text: string }

/** What an admission needs to know of queues. */
export type Queueing = {
  enqueue: (job: JobToQueue) => Promise<void>
  /** Whether the job of a submission is in its queue: waiting, in hand, to be tried again, or done a moment ago. */
  isQueued: (submission: Pick<SubmissionJob, 'workspaceId' | 'operation' | 'submissionId'>) => Promise<boolean>
  /** How the names of an operation's queue begin in Redis. */
  namesOf: (operation: Operation) => string
}

/**
 * Queues admitted submissions under their own ids, so that doing it twice queues them once; those together that come at the same
 * time: twenty that come together cost Redis 9 µs each, by themselves 30 µs.
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
export const submissionEnqueuer = (redis: RedisClient, queues: JobQueues): EnqueueSubmission => {
  const { enqueue } = queueingIn(redis, queues)
  return (job) => enqueue({ operation: job.operation, submissionId: job.submissionId, text: JSON.stringify(job) })
}

/** For scripts: what is left of the body of a job, given how it begins (`leftBegins`). */
export const BODY_LEFT = `
local function bodyLeft(begins, number, id)
  return begins .. ',"number":' .. number .. ',"submissionId":"' .. id .. '"}'
end
`

export const leftBegins = ({ version, operation, workspaceId }: Settleable): string => {
  const left: Omit<SettledJob, 'number' | 'submissionId'> = { version, operation, workspaceId, settled: true }
  return JSON.stringify(left).slice(0, -1)
}

// KEYS how the names of jobs begin, which are all in one slot. ARGV how begins what is left of each, then number and id of each.
// A job that is gone does not come back.
const FORGET_BODIES = `
${BODY_LEFT}
for at = 2, #ARGV, 2 do
  local left = bodyLeft(ARGV[1], ARGV[at], ARGV[at + 1])
  if redis.call('HSET', KEYS[1] .. ARGV[at + 1], 'data', left) == 1 then redis.call('DEL', KEYS[1] .. ARGV[at + 1]) end
end
return 0
`

type WithForgetBodies = { forgetBodies(numberOfKeys: number, ...rest: (string | number)[]): Promise<0> }

export type ForgetBodies = (settled: readonly Settleable[]) => Promise<void>

/**
 * Takes from the jobs of settled submissions what was submitted: finished jobs are kept for a while for operators, and hold
 * nothing that a purge would have to find.
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

// KEYS the list of waiting jobs, taken from its end. ARGV jobs, first ones first.
const TO_THE_FRONT = `
local moved = 0
for i = #ARGV, 1, -1 do
  if redis.call('LREM', KEYS[1], -1, ARGV[i]) == 1 then
    redis.call('RPUSH', KEYS[1], ARGV[i])
    moved = moved + 1
  end
end
return moved
`

/**
 * Puts those of the submissions that wait in a queue first in it: one that is tried again has lost its place. Returns
 * how many were moved in each queue.
 */
export const bringForward = async (
  redis: RedisClient,
  queues: JobQueues,
  submissionIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (submissionIds.length === 0) return new Map()
  const names = [...new Set(Object.values(QUEUE_OF))]
  return new Map(
    await Promise.all(
      names.map(async (name): Promise<[string, number]> => {
        const moved = await redis.eval(TO_THE_FRONT, 1, queues[name].toKey('wait'), ...submissionIds)
        return [name, Number(moved)]
      }),
    ),
  )
}

type Settleable = Pick<SubmissionJob, 'version' | 'operation' | 'workspaceId' | 'submissionId' | 'number'>

/** Returns the ids of the jobs. */
export const enqueueTagging = async (queues: JobQueues, jobs: readonly TaggingJob[]): Promise<string[]> => {
  if (jobs.length === 0) return []
  const added = await queues.tagging.addBulk(
    jobs.map((job) => ({ name: 'generate_tags', data: job, opts: JOB_OPTIONS })),
  )
  return added.flatMap(({ id }) => id ?? [])
}

/** How a tagging job ended, with how many records it kept; undefined while it has not. One that is gone had ended well. */
export const taggingOutcome = async (
  queues: JobQueues,
  id: string,
): Promise<{ failed: boolean; kept: number | undefined } | undefined> => {
  const job: Job<TaggingJob, number> | undefined = await queues.tagging.getJob(id)
  if (job === undefined) return { failed: false, kept: undefined }
  if (await job.isFailed()) return { failed: true, kept: 0 }
  if (!(await job.isCompleted())) return undefined
  // Read again: it may have ended between the two.
  const ended: Job<TaggingJob, number> | undefined = await queues.tagging.getJob(id)
  return { failed: false, kept: ended?.returnvalue }
}

/** Submissions that wait in all queues together. */
export const countWaiting = async (queues: JobQueues): Promise<number> => {
  const counts = await Promise.all(Object.values(queues).map((queue) => queue.getJobCountByTypes('waiting', 'delayed')))
  return counts.reduce((sum, count) => sum + count, 0)
}

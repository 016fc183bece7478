import { type Job, Queue } from 'bullmq'
import type { TaggingJob } from '../contract/job.ts'
import { JOB_OPTIONS, QUEUE_NAMES, type QueueName, queuePrefix } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'
import { readCarrier } from './keys.ts'

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

/** Those jobs (`carrierValue`) that wait, are delayed, or are in the hands of a worker. */
export const livingAmong = async (queues: JobQueues, carriers: ReadonlySet<string>): Promise<ReadonlySet<string>> => {
  const looked = await Promise.all(
    [...carriers].map(async (carrier) => {
      const { queue, jobId } = readCarrier(carrier)
      return ENDED.has(await queues[queue].getJobState(jobId)) ? [] : carrier
    }),
  )
  return new Set(looked.flat())
}

const ENDED: ReadonlySet<string> = new Set(['unknown', 'completed', 'failed'])

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

import { parseJob, QUEUE_OF, type SubmissionJob } from '../contract/job.ts'
import { queuePrefix } from '../contract/queues.ts'
import { type RedisClient, scanKeys } from './redis.ts'

/** A submission with its job as it was queued. */
export type JobText = { job: SubmissionJob; text: string }

/** A job can be as large as a conversation, and this many are held at a time. */
const KEYS_AT_ONCE = 16
const ANY_UUID = '????????-????-????-????-????????????'

/**
 * The submissions whose jobs are not finished, whatever queue and state they are in, some at a time. They are found by their
 * keys and not by the lists of their queues, from one to another of which they move meanwhile.
 */
export const queuedSubmissions = async function* (redis: RedisClient, prefix: string): AsyncGenerator<JobText> {
  const queues = [...new Set(Object.values(QUEUE_OF))].map((queue) => `${queuePrefix(prefix, queue)}:${queue}:`)
  for await (const found of scanKeys(redis, { match: `{${prefix}:*}:*:${ANY_UUID}`, count: KEYS_AT_ONCE })) {
    const names = found.filter((name) => queues.includes(name.slice(0, -ANY_UUID.length)))
    const jobs = await Promise.all(names.map((name) => redis.hmget(name, 'data', 'finishedOn', 'failedReason')))
    for (const [text, finishedOn, failedReason] of jobs) {
      const isCompleted = finishedOn != null && failedReason == null
      if (text == null || isCompleted) continue
      const job = parseJob(text)
      if (job !== undefined) yield { job, text }
    }
  }
}

import { parseJob, type SubmissionJob } from '../contract/job.ts'
import { queuePrefix } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'
import { SUBMISSION_QUEUES } from './job-queues.ts'
import { scanKeys } from './redis-servers.ts'

/** A submission with its job as it was queued. */
type JobText = { job: SubmissionJob; text: string }

/** So many jobs are held at a time, each of which can be as large as a conversation. */
const KEYS_AT_ONCE = 16
const ANY_UUID = '????????-????-????-????-????????????'

/**
 * The submissions whose jobs are not finished, whatever queue and state they are in, some at a time. The search goes by the keys of the
 * jobs and not by the lists of their queues, since jobs move from list to list meanwhile.
 */
export const queuedSubmissions = async function* (redis: RedisClient, prefix: string): AsyncGenerator<JobText> {
  const queues = SUBMISSION_QUEUES.map((queue) => `${queuePrefix(prefix, queue)}:${queue}:`)
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

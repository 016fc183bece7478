import { type Job, Queue } from 'bullmq'
import type { Operation } from '../contract/job.ts'
import { IDEMPOTENCY_SECONDS } from '../contract/limits.ts'
import type { RedisClient } from './connect-redis.ts'
import { recordOf, shortened } from './idempotency.ts'
import { admissionKeys } from './keys.ts'
import { scanKeys } from './redis-servers.ts'

// What release 0.2 kept in Redis in another form. To be deleted with the first release that needs no upgrade from it.

const QUEUES = ['feedback', 'contacts', 'accounts', 'conversations', 'purges', 'tagging']
const STATES = ['waiting', 'delayed', 'failed', 'active'] as const
const JOBS_AT_ONCE = 100

/** A job of a submission, `{settled: true}` in its place, or a job for the tagger. */
export type FormerJob = { data: unknown }

/**
 * Hands each job to `keep`, and then removes it, unless a worker has it in hand. Returns how many were removed; undefined when release 0.2
 * has left nothing, not even a queue.
 */
export const takeFormerJobs = async (
  redis: RedisClient,
  prefix: string,
  keep: (job: FormerJob) => Promise<void>,
): Promise<number | undefined> => {
  let taken: number | undefined
  for (const name of QUEUES) {
    const queue = new Queue(name, { connection: redis, prefix: `{${prefix}:${name}}`, skipMetasUpdate: true })
    queue.on('error', () => {})
    try {
      if ((await queue.getVersion()) === null && (await isEmpty(queue))) continue
      taken ??= 0
      for (const state of STATES) taken += await takeJobsIn(queue, state, keep)
      if (await isEmpty(queue)) await queue.obliterate()
    } finally {
      await queue.close()
    }
  }
  return taken
}

const isEmpty = async (queue: Queue): Promise<boolean> =>
  Object.values(await queue.getJobCounts(...STATES)).every((count) => count === 0)

const takeJobsIn = async (
  queue: Queue,
  state: (typeof STATES)[number],
  keep: (job: FormerJob) => Promise<void>,
): Promise<number> => {
  for (let taken = 0; ;) {
    const jobs = (await queue.getJobs([state], 0, JOBS_AT_ONCE - 1, true)) as (Job | undefined)[]
    let removed = 0
    for (const job of jobs) {
      if (job === undefined) continue
      await keep({ data: job.data as unknown })
      removed += await queue.remove(job.id!)
    }
    taken += removed
    if (removed === 0) return taken
  }
}

/** Forgets what a submission said in the old form, by key, once it is on the books in the new one. */
export const forgetFormerSayings = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, number, keyIds }: { workspaceId: string; number: number; keyIds: readonly string[] },
): Promise<void> => {
  await Promise.all(keyIds.map((keyId) => redis.hdel(`{${prefix}:${workspaceId}}:said:${keyId}`, String(number))))
}

/** Brings idempotency records into the book of recent keys. */
export const shortenFormerKeys = async (redis: RedisClient, prefix: string): Promise<void> => {
  for await (const names of scanKeys(redis, { match: `{${prefix}:*}:idempotency:*`, count: JOBS_AT_ONCE })) {
    for (const name of names) await shortenFormerKey(redis, prefix, name)
  }
}

const shortenFormerKey = async (redis: RedisClient, prefix: string, name: string): Promise<void> => {
  const [, workspaceId, operation, wholeKey] = /:([^:]*)\}:idempotency:([^:]*):([^:]*)$/.exec(name) ?? []
  const [wholeBody, submissionId, number] = ((await redis.get(name)) ?? '').split(':')
  if (wholeKey !== undefined && number !== undefined) {
    const { key, body } = shortened(operation as Operation, { key: wholeKey, body: wholeBody! })
    const { idempotency, settledKeys } = admissionKeys(prefix, workspaceId!)
    const record = recordOf({ body, submissionId: submissionId!, number: Number(number) })
    if ((await redis.hsetnx(idempotency, key, record)) === 1) await redis.rpush(settledKeys, `${number} ${key}`)
    await Promise.all([idempotency, settledKeys].map((book) => redis.expire(book, IDEMPOTENCY_SECONDS)))
  }
  await redis.del(name)
}

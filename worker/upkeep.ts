import type { RedisClient } from '../queue/connect-redis.ts'
import * as v from 'valibot'
import { QUEUE_OF, settledJob, submissionJob } from '../contract/job.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import { sayingsOf } from '../contract/identity/sayings.ts'
import { setAside } from '../db/submissions/dead.ts'
import { expireReceipts } from '../db/submissions/expire-receipts.ts'
import { forgetBodiesIn, type JobQueues } from '../queue/job-queues.ts'
import type { Sql } from '../db/postgres.ts'
import { giveUpLostReplays } from './lost-replays.ts'
import type { DeliveredJob } from '../queue/delivered-job.ts'
import { openBooksIn } from '../queue/open-books.ts'
import { GIVEN_UP_AFTER_MS, withdrawLost } from './sweep.ts'

type Upkeep = {
  sql: Sql
  redis: RedisClient
  prefix: string
  queues: JobQueues
  hashKey: HashKey
  receiptDays: number
}

type Done = Record<'withdrawn' | 'expired' | 'setAside' | 'replaysGivenUp', number>

/** What is looked after now and then. Returns what was done, by kind. */
export const keepUp = async (upkeep: Upkeep): Promise<Done> => {
  const [withdrawn, expired, aside, replaysGivenUp] = await Promise.all([
    withdrawLost(upkeep, Date.now()),
    expireReceipts(upkeep.sql, upkeep.receiptDays),
    setAsideFailed(upkeep),
    giveUpLostReplays(upkeep, GIVEN_UP_AFTER_MS),
  ])
  return { withdrawn, expired, setAside: aside, replaysGivenUp }
}

const LOOKED_AT = 100

/**
 * Sets aside what a queue has given up on its own, without asking a worker: a job that killed its worker again and again. Until
 * then it holds up the purges of its workspace.
 */
const setAsideFailed = async ({ sql, redis, prefix, queues, hashKey }: Upkeep): Promise<number> => {
  const names = [...new Set(Object.values(QUEUE_OF))]
  const failed = (await Promise.all(names.map((name) => queues[name].getFailed(0, LOOKED_AT)))).flat()
  let count = 0
  for (const job of failed as (DeliveredJob | undefined)[]) {
    if (job === undefined) continue
    if (v.is(settledJob, job.data)) await job.remove()
    const parsed = v.safeParse(submissionJob, job.data)
    if (!parsed.success) continue
    const { workspaceId, submissionId, number } = parsed.output
    await setAside(sql, hashKey, { job: parsed.output, attempts: job.attemptsMade, reason: 'GivenUp stalled' })
    await forgetBodiesIn(redis, queues)([parsed.output])
    const sayings = sayingsOf({ hashKey, workspaceId }, parsed.output)
    await openBooksIn(redis, prefix).settle([{ workspaceId, submissionId, number, sayings }])
    // Nothing removes failed jobs, and only the newest are looked at.
    await job.remove()
    count++
  }
  return count
}

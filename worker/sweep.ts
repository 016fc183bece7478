import type { Sql } from '../db/postgres.ts'
import { findState } from '../db/submissions/receipts.ts'
import { listWorkspaceIds } from '../db/workspaces.ts'
import { hasJob } from '../queue/find-job.ts'
import type { JobQueues } from '../queue/job-queues.ts'
import type { RedisClient } from '../queue/connect-redis.ts'
import { clearBooks, outstandingBefore, withdraw } from '../queue/withdraw.ts'

/** An admission without a job is given up after this time: its request got no confirmation. */
export const GIVEN_UP_AFTER_MS = 60_000
const LOOKED_AT = 100

type SweptStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues }

/**
 * Withdraws admissions whose job never came: admitting and queueing are two steps, and a process can die in between. Until
 * then they hold up the purges of their workspace. Returns how many were withdrawn.
 */
export const withdrawLost = async ({ sql, redis, prefix, queues }: SweptStores, now: number): Promise<number> => {
  let withdrawn = 0
  for (const workspaceId of await listWorkspaceIds(sql)) {
    const old = { workspaceId, ms: now - GIVEN_UP_AFTER_MS, limit: LOOKED_AT }
    for (const booked of await outstandingBefore(redis, prefix, old)) {
      if (await hasJob(queues, booked.submissionId)) continue
      const state = await findState(sql, workspaceId, booked.submissionId)
      // Only a dead submission that is being replayed is queued by its receipt: lost-replays.ts looks after it.
      if (state === 'queued') continue
      if (state !== undefined) await clearBooks(redis, prefix, booked)
      else if (await withdraw(redis, prefix, booked)) withdrawn++
    }
  }
  return withdrawn
}

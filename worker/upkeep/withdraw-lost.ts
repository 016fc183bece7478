import { findState } from '../../db/submissions/receipts.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { hasJob } from '../../queue/find-job.ts'
import { clearBooks, outstandingBefore, withdraw } from '../../queue/withdraw.ts'
import type { WorkerStores } from '../dependencies.ts'

/** Outstanding submissions of a workspace that are looked at in one go, the oldest first. */
const LOOKED_AT = 100

type SweptStores = Omit<WorkerStores, 'hashKey'>

/**
 * Withdraws admissions from before `beforeMs` (Unix time) whose job never came: admitting and queueing are two steps, and a
 * process can die in between. Until then they hold up the purges of their workspace. Returns how many were withdrawn.
 */
export const withdrawLost = async ({ sql, redis, prefix, queues }: SweptStores, beforeMs: number): Promise<number> => {
  let withdrawn = 0
  for (const workspaceId of await listWorkspaceIds(sql)) {
    const old = { workspaceId, ms: beforeMs, limit: LOOKED_AT }
    for (const booked of await outstandingBefore(redis, prefix, old)) {
      if (await hasJob(queues, booked.submissionId)) continue
      const state = await findState(sql, workspaceId, booked.submissionId)
      // Only a dead submission that is being replayed is queued by its receipt: `giveUpLostReplays` looks after it.
      if (state === 'queued') continue
      if (state !== undefined) await clearBooks(redis, prefix, booked)
      else if (await withdraw(redis, prefix, booked)) withdrawn++
    }
  }
  return withdrawn
}

import { parseJob } from '../../contract/job.ts'
import { giveUpReplay, listBegunReplays } from '../../db/submissions/dead.ts'
import { hasJob } from '../../queue/find-job.ts'
import type { WorkerStores } from '../dependencies.ts'
import { settleInQueue, settlingIn } from '../settle.ts'

/** Replays that are looked at in one go, the oldest first. */
const LOOKED_AT = 20

/**
 * Gives up replays that were begun more than `afterMs` ago and whose job never came, because the process that began the replay
 * died in between: their submissions are dead as before. Returns how many were given up.
 */
export const giveUpLostReplays = async (stores: WorkerStores, afterMs: number): Promise<number> => {
  const settling = settlingIn(stores)
  let givenUp = 0
  for (const { workspaceId, id, job: text } of await listBegunReplays(stores.sql, { afterMs, limit: LOOKED_AT })) {
    const job = parseJob(text)
    if (!job || (await hasJob(stores.queues, id))) continue
    await settleInQueue(settling, job)
    // The state comes last: until the submission is off the books, the replay is looked at again.
    if (await giveUpReplay(stores.sql, { workspaceId, id, afterMs })) givenUp++
  }
  return givenUp
}

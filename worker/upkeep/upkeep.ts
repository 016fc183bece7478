import { expireReceipts } from '../../db/submissions/expire-receipts.ts'
import type { WorkerStores } from '../dependencies.ts'
import { giveUpLostReplays } from './give-up-lost-replays.ts'
import { settleFailedJobs } from './settle-failed-jobs.ts'
import { withdrawLost } from './withdraw-lost.ts'

/** An admission or a replay whose job has not come by then is given up: its request got no confirmation. */
const GIVEN_UP_AFTER_MS = 60_000

type Done = Record<'withdrawn' | 'expired' | 'setAside' | 'replaysGivenUp', number>

/** Looks after what no job looks after. Returns what was done, by kind. */
export const keepUp = async (stores: WorkerStores, receiptDays: number): Promise<Done> => {
  const [withdrawn, expired, setAside, replaysGivenUp] = await Promise.all([
    withdrawLost(stores, Date.now() - GIVEN_UP_AFTER_MS),
    expireReceipts(stores.sql, receiptDays),
    settleFailedJobs(stores),
    giveUpLostReplays(stores, GIVEN_UP_AFTER_MS),
  ])
  return { withdrawn, expired, setAside, replaysGivenUp }
}

import { expireIdempotencyKeys } from '../../db/submissions/idempotency-keys.ts'
import { expireReceipts } from '../../db/submissions/expire-receipts.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { describeFault } from '../../process/fault.ts'
import type { Log } from '../../process/log.ts'
import type { HandOver } from '../../queue/hand-over.ts'
import { trimIdempotencyKeys } from '../../queue/idempotency.ts'
import { handOverLeft, handOverLost } from '../../queue/outbox.ts'
import { redisCondition } from '../../queue/redis-condition.ts'
import type { WorkerStores } from '../dependencies.ts'
import { finishReplays } from './finish-replays.ts'
import { takeOverFormer } from './take-over-former.ts'

const HAND_OVER_EVERY_MS = 2_000
/** The process that admitted a batch takes it out of the outbox within milliseconds. */
const LEFT_AFTER_MS = 2_000
const KEEP_UP_EVERY_MS = 20_000
/** A job that has not come by then is lost. */
const LOST_AFTER_MS = 60_000

type UpkeepStores = WorkerStores & { handOver: HandOver }
type Settings = { receiptDays: number; log: Log }

/**
 * Looks after what no job looks after, now and then, until it is stopped. Every worker does; it does no harm when several do so at the
 * same time.
 */
export const startUpkeep = (stores: UpkeepStores, { receiptDays, log }: Settings): { stop: () => void } => {
  const timers = [
    repeat(HAND_OVER_EVERY_MS, log, async () => ({ handedOver: await handOver(stores) })),
    repeat(KEEP_UP_EVERY_MS, log, () => keepUp(stores, receiptDays)),
  ]
  return { stop: () => timers.forEach(clearInterval) }
}

type Done = Readonly<Record<string, number>>

const repeat = (everyMs: number, log: Log, work: () => Promise<Done>): ReturnType<typeof setInterval> => {
  let isBusy = false
  const once = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      const done = await work()
      if (Object.values(done).some((count) => count > 0)) log('info', 'upkeep', done)
    } catch (error) {
      log('warn', 'upkeep_failed', { fault: describeFault(error) })
    } finally {
      isBusy = false
    }
  }
  void once()
  return setInterval(() => void once(), everyMs)
}

/** Hands over what its API process did not live to hand over. */
export const handOver = async (stores: UpkeepStores): Promise<number> => {
  const workspaceIds = await listWorkspaceIds(stores.sql)
  return handOverLeft(stores, { workspaceIds, beforeMs: Date.now() - LEFT_AFTER_MS })
}

/** Returns what was done, by kind. */
export const keepUp = async (stores: UpkeepStores, receiptDays: number): Promise<Done> => {
  const { sql, redis, prefix } = stores
  const takenOver = await takeOverFormer(stores)
  const workspaceIds = await listWorkspaceIds(sql)
  const nowMs = Date.now()
  const { maxBytes } = await redisCondition(redis)
  const [handedOver, expired, keysExpired] = await Promise.all([
    handOverLost(stores, { workspaceIds, beforeMs: nowMs - LOST_AFTER_MS }),
    expireReceipts(sql, receiptDays),
    expireIdempotencyKeys(sql),
    finishReplays(stores, LOST_AFTER_MS),
    trimIdempotencyKeys(redis, prefix, { workspaceIds, maxBytes, nowMs }),
  ])
  return { takenOver, handedOver, expired, keysExpired }
}

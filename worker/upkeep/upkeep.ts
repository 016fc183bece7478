import { TOKEN_USABLE_WITHOUT_POSTGRES_MS } from '../../contract/limits.ts'
import { listDeletedIds } from '../../db/delete-workspace.ts'
import { expireIdempotencyKeys } from '../../db/submissions/idempotency-keys.ts'
import { expireReceipts } from '../../db/submissions/expire-receipts.ts'
import { leaveOutRepeats, workspacesWithRepeats } from '../../db/submissions/repeats.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { describeFault } from '../../process/fault.ts'
import type { Log } from '../../process/log.ts'
import { backlogsSince, drainBacklogs } from '../../queue/backlog.ts'
import { forgetLeftOf } from '../../queue/forget-workspace.ts'
import type { HandOver } from '../../queue/hand-over.ts'
import { trimIdempotencyKeys } from '../../queue/idempotency.ts'
import { handOverLeft, handOverLost } from '../../queue/outbox.ts'
import { settledThrough } from '../../queue/barrier.ts'
import { redisCondition } from '../../queue/redis-condition.ts'
import { takeTurn } from '../../queue/take-turn.ts'
import type { WorkerStores } from '../dependencies.ts'
import { finishReplays } from './finish-replays.ts'
import { takeOverFormer } from './take-over-former.ts'

const OFTEN_MS = 2_000
/** The process that admitted a batch has had it stored, or has taken it out of the outbox, within a second or two. */
const LEFT_AFTER_MS = 4_000
const KEEP_UP_EVERY_MS = 20_000
/** A job that has not come by then is lost. */
const LOST_AFTER_MS = 60_000
/** By then no process knows a token of a workspace that was deleted, nor has anything of it in hand. */
const FORGOTTEN_FOR_MS = 2 * TOKEN_USABLE_WITHOUT_POSTGRES_MS

type UpkeepStores = WorkerStores & { handOver: HandOver }
type Settings = { receiptDays: number; log: Log }

/**
 * Looks after what no job looks after, now and then, until it is stopped. Workers take turns, since all workspaces are looked at each time; it
 * does no harm when several do so at the same time.
 */
export const startUpkeep = (stores: UpkeepStores, { receiptDays, log }: Settings): { stop: () => void } => {
  const repeat = repeatingIn(stores, log)
  const timers = [
    repeat('hand-over', OFTEN_MS, async () => ({ handedOver: await handOver(stores) })),
    repeat('leave-out', OFTEN_MS, () => leaveOut(stores)),
    repeat('keep-up', KEEP_UP_EVERY_MS, () => keepUp(stores, receiptDays)),
  ]
  return { stop: () => timers.forEach(clearInterval) }
}

type Done = Readonly<Record<string, number>>
type Repeat = (name: string, everyMs: number, work: () => Promise<Done>) => ReturnType<typeof setInterval>

/** A little less than the time between two looks of a worker, so that it gets its turn again if it is the only one. */
const PERIOD = 0.9

const repeatingIn =
  ({ redis, prefix }: UpkeepStores, log: Log): Repeat =>
  (name, everyMs, work) => {
    let isBusy = false
    const once = async (): Promise<void> => {
      if (isBusy) return
      isBusy = true
      try {
        if (!(await takeTurn(redis, prefix, { name, periodMs: Math.floor(PERIOD * everyMs) }))) return
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

/** Hands over what its API process did not live to hand over, and has backlogs drained. */
export const handOver = async (stores: UpkeepStores): Promise<number> => {
  const { sql, redis, prefix, queues } = stores
  const left = { workspaceIds: await listWorkspaceIds(sql), forMs: LEFT_AFTER_MS }
  const [handedOver, backlogs] = await Promise.all([handOverLeft(stores, left), backlogsSince(redis, prefix, left)])
  await drainBacklogs(queues, backlogs)
  return handedOver
}

/** Returns what was done, by kind. */
export const keepUp = async (stores: UpkeepStores, receiptDays: number): Promise<Done> => {
  const { sql, redis, prefix } = stores
  const takenOver = await takeOverFormer(stores)
  const workspaceIds = await listWorkspaceIds(sql)
  const { maxBytes } = await redisCondition(redis)
  const [handedOver, expired, keysExpired, forgotten] = await Promise.all([
    handOverLost(stores, { workspaceIds, forMs: LOST_AFTER_MS }),
    expireReceipts(sql, receiptDays),
    expireIdempotencyKeys(sql),
    listDeletedIds(sql, FORGOTTEN_FOR_MS).then((deleted) => forgetLeftOf(redis, prefix, deleted)),
    finishReplays(stores, LOST_AFTER_MS),
    trimIdempotencyKeys(redis, prefix, { workspaceIds, maxBytes, nowMs: Date.now() }),
  ])
  return { takenOver, handedOver, expired, keysExpired, forgotten }
}

/** Takes out rows that only repeat others, where that could not be told when they were stored. */
const leaveOut = async ({ sql, redis, prefix }: UpkeepStores): Promise<Done> => {
  for (const workspaceId of await workspacesWithRepeats(sql)) {
    const through = await settledThrough(redis, prefix, workspaceId)
    if (through !== undefined) await leaveOutRepeats(sql, workspaceId, through)
  }
  return {}
}

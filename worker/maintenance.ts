import { TOKEN_USABLE_WITHOUT_POSTGRES_MS } from '../contract/limits.ts'
import { listPurgesUnderWay } from '../db/purges/removal.ts'
import { expireTombstones } from '../db/reads/changes.ts'
import { expireReceipts } from '../db/submissions/receipts.ts'
import { readPositions } from '../db/submissions/position.ts'
import { listToSum, sumFeedback } from '../db/sum-feedback.ts'
import { listDeletedIds } from '../db/workspaces/delete-workspace.ts'
import { idsFrom, listWorkspaceIds } from '../db/workspaces/workspaces.ts'
import { trimIdempotencyKeys } from '../queue/admission/idempotency.ts'
import { addRemovals } from '../queue/jobs/job-queues.ts'
import { takeTurn } from '../queue/jobs/take-turn.ts'
import { forgetLateKeys } from '../queue/log/forget-workspace.ts'
import { listLogs, nextGroup, noteStrays } from '../queue/log/groups.ts'
import { readNotedPositions, sweepLogs } from '../queue/log/sweep.ts'
import { readRedisCondition } from '../queue/redis/redis-condition.ts'
import { describeFault } from '../runtime/fault.ts'
import { CAPABILITIES } from './capabilities.ts'
import type { MaintenanceDependencies, MaintenanceTask } from './capability.ts'
import { finishBegunReplays, replayDueRetries } from './replays.ts'

/**
 * Runs the tasks until `stop`. Workers take turns, since one of them is enough. Several runs at once
 * do no harm. A run looks at workspaces with work, and at most at one group of the others: an idle
 * workspace costs nearly nothing.
 */
export const startMaintenance = (dependencies: MaintenanceDependencies): { stop: () => void } => {
  const stops = TASKS.map((task) => repeat(task, dependencies))
  return { stop: () => stops.forEach((stop) => stop()) }
}

/** A turn lasts a bit less than the time between two runs, so that a lone worker gets each turn. */
const TURN_SHARE = 0.9

/** Repeats a task until the returned function is called. */
const repeat = ({ name, everyMs, run }: MaintenanceTask, dependencies: MaintenanceDependencies): (() => void) => {
  const { redis, prefix, log } = dependencies
  let isBusy = false
  let isStopped = false
  const once = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      if (!(await takeTurn(redis, prefix, { name, periodMs: Math.floor(TURN_SHARE * everyMs) }))) return
      const done = await run(dependencies)
      if (Object.values(done).some((count) => count > 0)) log('info', 'maintenance', { task: name, ...done })
    } catch (error) {
      // The end of the process interrupts a run. Another process repeats the task.
      if (!isStopped) log('warn', 'maintenance_failed', { task: name, fault: describeFault(error) })
    } finally {
      isBusy = false
    }
  }
  void once()
  const timer = setInterval(() => void once(), everyMs)
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}

/** In this time the wake of an entry arrives, unless the process that admitted the entry died. */
const WAITED_MS = 3_000
/** More waiting jobs would not help: all workers are busy, or the queue is paused. */
const MOST_WAITING_JOBS = 1_000

/**
 * Wakes workspaces whose entries wait without a worker, and trims applied entries. If a promoted
 * standby has an older position than Redis has noted, the entries after the older one wait again.
 * Looks only at the workspaces that Redis notes to have entries.
 */
export const sweepAllLogs: MaintenanceTask = {
  name: 'sweep-logs',
  everyMs: 2_000,
  run: async (dependencies) => {
    const workspaceIds = await listLogs(dependencies.redis, dependencies.prefix)
    return { woken: workspaceIds.length === 0 ? 0 : await sweep(dependencies, workspaceIds) }
  },
}

/** Returns how many workspaces it has woken. */
const sweep = async (
  { sql, redis, prefix, queues, wake, redoMs }: MaintenanceDependencies,
  workspaceIds: readonly string[],
): Promise<number> => {
  const noted = await readNotedPositions(redis, prefix, workspaceIds)
  const positions = await readPositions(sql, workspaceIds)
  const behind = new Map([...positions].filter(([id, position]) => position < (noted.get(id) ?? 0)))
  const settings = { workspaceIds, waitedMs: WAITED_MS, redoMs: redoMs(), positions: behind }
  const toWake = await sweepLogs(redis, prefix, settings)
  if (toWake.length === 0) return 0
  const isPilingUp = (await queues.wake.getWaitingCount()) > MOST_WAITING_JOBS
  const woken = toWake.filter(({ isDeep }) => isDeep || !isPilingUp)
  await Promise.all(woken.map(({ workspaceId, isDeep }) => wake.wake(workspaceId, { submissions: 0, isDeep })))
  return woken.length
}

/**
 * Notes again the workspaces with entries that Redis does not note, for the next sweep. Looks at one
 * group of all workspaces at a turn.
 */
export const findStrays: MaintenanceTask = {
  name: 'find-strays',
  everyMs: 4_000,
  run: async ({ sql, redis, prefix }) => {
    const group = await nextGroup(redis, prefix, 'find-strays')
    await noteStrays(redis, prefix, { group, workspaceIds: await listWorkspaceIds(sql, idsFrom(group)) })
    return {}
  },
}

/** The job of a purge that was accepted longer ago may be lost, or may have failed for good. */
const RESUMED_AFTER_MS = 60_000

/** Adds jobs again for decided purges whose records are still being removed. */
export const resumePurges: MaintenanceTask = {
  name: 'resume-purges',
  everyMs: 20_000,
  run: async ({ sql, queues }) => {
    const removals = await listPurgesUnderWay(sql, { olderThanMs: RESUMED_AFTER_MS })
    await addRemovals(queues, removals)
    return { purgesResumed: removals.length }
  },
}

export const finishReplays: MaintenanceTask = {
  name: 'finish-replays',
  everyMs: 10_000,
  run: async (dependencies) => ({ replaysFinished: await finishBegunReplays(dependencies) }),
}

/** Replays dead submissions whose fault may have passed. */
export const retryDead: MaintenanceTask = {
  name: 'retry-dead',
  everyMs: 10_000,
  run: async (dependencies) => ({ retried: await replayDueRetries(dependencies) }),
}

/**
 * After this time, no process accepts a token of a deleted workspace, or has its submissions in
 * hand.
 */
const FORGOTTEN_FOR_MS = 2 * TOKEN_USABLE_WITHOUT_POSTGRES_MS

/** Removes the keys of submissions that were admitted after their workspace was deleted. */
export const forgetDeletedWorkspaces: MaintenanceTask = {
  name: 'forget-deleted-workspaces',
  everyMs: 20_000,
  run: async ({ sql, redis, prefix }) => ({
    keysForgotten: await forgetLateKeys(redis, prefix, await listDeletedIds(sql, FORGOTTEN_FOR_MS)),
  }),
}

/** Removes expired receipts with their idempotency keys, in one group of workspaces at a turn. */
const expireOldReceipts: MaintenanceTask = {
  name: 'expire-receipts',
  everyMs: 20_000,
  run: async ({ sql, redis, prefix, receiptDays }) => {
    const range = idsFrom(await nextGroup(redis, prefix, 'expire-receipts'))
    return { receiptsExpired: await expireReceipts(sql, receiptDays, range) }
  },
}

/**
 * Removes expired tombstones, in one group of workspaces at a turn. A consumer that has not seen them
 * has to start again.
 */
const expireOldTombstones: MaintenanceTask = {
  name: 'expire-tombstones',
  everyMs: 20_000,
  run: async ({ sql, redis, prefix, tombstoneDays }) => {
    const range = idsFrom(await nextGroup(redis, prefix, 'expire-tombstones'))
    return { tombstonesExpired: await expireTombstones(sql, tombstoneDays, range) }
  },
}

/** Keeps the idempotency keys in Redis within their share of its memory. */
const trimKeys: MaintenanceTask = {
  name: 'trim-keys',
  everyMs: 30_000,
  run: async ({ redis, prefix }) => {
    const { maxBytes } = await readRedisCondition(redis)
    const group = await nextGroup(redis, prefix, 'trim-keys')
    await trimIdempotencyKeys(redis, prefix, { group, maxBytes, nowMs: Date.now() })
    return {}
  },
}

/** The steps of one workspace at a turn. Between two steps, its writer can go on. */
const STEPS_AT_ONCE = 20

/** Adds feedback to the sums, in workspaces whose logs have entries: feedback comes from nowhere else. */
export const addToSums: MaintenanceTask = {
  name: 'add-to-sums',
  everyMs: 5_000,
  run: async ({ sql, redis, prefix }) => {
    const workspaceIds = await listLogs(redis, prefix)
    if (workspaceIds.length === 0) return {}
    const due = await listToSum(sql, workspaceIds)
    const faults: unknown[] = []
    // The fault of one workspace does not hold up the others.
    for (const id of due) await sumFeedback(sql, id, STEPS_AT_ONCE).catch((error: unknown) => faults.push(error))
    if (faults.length > 0) throw new AggregateError(faults, 'Sums of feedback failed')
    return {}
  },
}

const TASKS: readonly MaintenanceTask[] = [
  sweepAllLogs,
  findStrays,
  resumePurges,
  finishReplays,
  retryDead,
  forgetDeletedWorkspaces,
  expireOldReceipts,
  expireOldTombstones,
  trimKeys,
  addToSums,
  ...CAPABILITIES.flatMap(({ tasks = [] }) => tasks),
]

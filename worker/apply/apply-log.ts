// A job names workspaces, and takes their logs. Each take gives one of:
//
//   idle        nothing is left to apply; Redis has released the lease
//   leased      another worker applies the log, and sees the new entries at its next take
//   awaited     only before staying: an identify or a purge waits, and is applied at once
//   deep        the log is long or its strides are short: the workspace moves to `backlog`
//   unreadable  the workspace moves to `backlog`, where only its own job fails
//   taken       the stride is applied, and `afterStride` goes on
//
// `backlog` is the queue of deep workspaces, whose job takes a log until nothing is left. Another
// job takes again only if the stride was full. Otherwise it ends, and the worker stays with the
// workspace: it keeps the lease, and takes again after a pace (staying.ts), until a take is idle.
// Admissions meanwhile wake no worker. A job that names such a workspace takes at once.
//
// An idle or leased log is taken again if another job has named its workspace meanwhile. Once a job
// may not go on (`mayGoOn`), it wakes the remaining workspaces again.
import type { TakeRequest } from '../../queue/log/log.ts'
import { withoutCause } from '../../queue/jobs/open-worker.ts'
import { describeFault, isUnavailable } from '../../runtime/fault.ts'
import { untilAvailable } from '../when-available.ts'
import { afterStride, type ApplyDependencies, giveToBacklog, type Job, passOn, putBack, take } from './apply-job.ts'
import { applyDeep, type AppliedStride, applyShared, type TakenStride } from './apply-taken.ts'
import { createInHand, type Hand, type InHand } from './in-hand.ts'
import { createStaying, type LastTake, STAYING_LEASE_MS } from './staying.ts'
import { isWhole } from './stride-outcome.ts'
import { FULL_STRIDE } from './stride-size.ts'

const BUDGET_MS = 250
/** The workspaces of a worker that dies wait until its leases run out. */
const LEASE_MS = 5_000
const RENEW_EVERY_MS = 1_250

type ApplyLogs = {
  /**
   * Waits during an outage of Postgres, and throws once the worker stops. Throws other faults at
   * once. `isDeep`: for a job of the queue `backlog`.
   */
  apply: (workspaceIds: readonly string[], isDeep: boolean) => Promise<void>
  /** Ends the renewal of leases, and releases those of workspaces with which the worker stays. */
  stop: () => Promise<void>
}

export const createApplyLogs = (dependencies: ApplyDependencies): ApplyLogs => {
  const inHand = createInHand()
  const postponed = new Map<string, number>()
  const begin = (workspaceIds: readonly string[], isDeep: boolean): Job => {
    const hand = inHand.begin(workspaceIds.filter((id) => (postponed.get(id) ?? 0) <= dependencies.now()))
    staying.leave(hand.ids())
    return { ...dependencies, hand, staying, postponed, isDeep, until: dependencies.now() + BUDGET_MS }
  }
  const wakeAll = (ids: readonly string[], isDeep: boolean) =>
    Promise.all(ids.map((id) => dependencies.wake.wake(id, { submissions: 0, isDeep })))
  const apply: ApplyLogs['apply'] = async (workspaceIds, isDeep) => {
    await wakeAll(await applyLogs(begin(workspaceIds, isDeep)), isDeep)
  }
  // After a fault, a job goes on: BullMQ repeats jobs.
  const staying = createStaying((ids) => apply(ids, false).catch(() => wakeAll(ids, false)))
  const renewing = setInterval(() => renewLeases(dependencies, inHand), RENEW_EVERY_MS)
  return {
    apply,
    stop: async () => {
      clearInterval(renewing)
      const job = begin(await staying.stop(), false)
      await wakeAll(await putBack(job, requestsFor(job.hand)), false)
    },
  }
}

const requestsFor = (hand: Hand): TakeRequest[] => hand.ids().map((workspaceId) => ({ workspaceId }))

/** A stride can take longer than a lease. Without a renewal, the worker would count as dead. */
const renewLeases = ({ logs, worker }: ApplyDependencies, inHand: InHand): void => {
  const ids = inHand.ids()
  // The next renewal makes up for a failed one.
  if (ids.length > 0) logs.renew(worker, ids, LEASE_MS).catch(() => {})
}

/** Applies until nothing is left or the job may not go on. Returns the workspaces to wake again. */
const applyLogs = async (job: Job): Promise<string[]> => {
  const { hand } = job
  let requests = requestsFor(hand)
  try {
    while (requests.length > 0) {
      requests = await applyWhenAvailable(job, requests)
      if (!(await mayGoOn(job))) return await putBack(job, requests)
    }
    return []
  } finally {
    hand.drop(...hand.ids())
  }
}

/** After the time budget, only a backlog job may go on, until other work needs the worker. */
const mayGoOn = async ({ until, isDeep, stop, quarantine, mustBacklogYield, now }: Job): Promise<boolean> => {
  if (stop.aborted) return false
  if (now() < until) return true
  return isDeep && !quarantine.isWanted() && !(await mustBacklogYield())
}

/** Releases the leases after a fault: a lease that runs out would count as a death. */
const applyWhenAvailable = async (job: Job, requests: readonly TakeRequest[]): Promise<TakeRequest[]> => {
  const { hand, logs, worker, sql, stop, log } = job
  try {
    return await applyRound(job, requests)
  } catch (error) {
    await logs.release(worker, hand.ids())
    if (!isUnavailable(error)) {
      const fault = describeFault(error)
      log('error', 'job_failed', { queue: job.isDeep ? 'backlog' : 'wake', fault })
      throw withoutCause(fault)
    }
    await untilAvailable(sql, stop)
    return requestsFor(hand)
  }
}

/** Takes strides and applies them. Returns the requests for the next take. */
const applyRound = async (job: Job, requests: readonly TakeRequest[]): Promise<TakeRequest[]> => {
  const next: TakeRequest[] = []
  const strides: TakenStride[] = []
  const most = Math.ceil(FULL_STRIDE.submissions / requests.length)
  const takenAt = performance.now()
  for (const [at, taken] of (await take(job, requests, { most, leaseMs: LEASE_MS })).entries()) {
    const { workspaceId } = requests[at]!
    if (taken.outcome === 'taken') strides.push({ workspaceId, ...taken })
    else if (taken.outcome === 'deep') passOn(job, workspaceId)
    else if (taken.outcome === 'unreadable') await giveToBacklog(job, workspaceId)
    else if (!job.hand.giveBack(workspaceId)) next.push({ workspaceId })
  }
  if (strides.length === 0) return next
  const applied: AppliedStride[] = job.isDeep ? [] : await applyShared(job, strides)
  if (job.isDeep) for (const stride of strides) applied.push(await applyDeep(job, stride))
  for (const stride of applied) next.push(...(await afterStride(job, stride)))
  if (job.isDeep) return next
  const short = strides.filter(
    ({ submissions, bound }, at) =>
      submissions.length < Math.min(most, bound) && isWhole(applied[at]!.outcome, { submissions }),
  )
  return stayWith(job, next, new Map(short.map((s) => [s.workspaceId, { found: s.submissions.length, takenAt }])))
}

/**
 * Notes the positions after short strides, and stays with their workspaces unless another job has
 * named them meanwhile. Returns the requests for the next take of this job.
 */
const stayWith = async (
  job: Job,
  requests: readonly TakeRequest[],
  short: ReadonlyMap<string, LastTake>,
): Promise<TakeRequest[]> => {
  const isRead = ({ workspaceId, applied }: TakeRequest): boolean =>
    applied !== undefined && short.has(workspaceId) && !job.hand.isMarked(workspaceId)
  const noted = job.stop.aborted ? [] : requests.filter(isRead)
  const next = requests.filter((request) => !noted.includes(request))
  if (noted.length === 0) return next
  for (const [at, { outcome }] of (await take(job, noted, { most: 0, leaseMs: STAYING_LEASE_MS })).entries()) {
    const { workspaceId } = noted[at]!
    if (outcome === 'deep') passOn(job, workspaceId)
    else if (outcome === 'awaited' || !job.hand.giveBack(workspaceId)) next.push({ workspaceId })
    else if (outcome !== 'leased') job.staying.stay(workspaceId, short.get(workspaceId)!)
  }
  return next
}

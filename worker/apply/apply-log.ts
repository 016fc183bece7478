// A job names workspaces, and takes their logs until nothing is left. Each take gives one of:
//
//   idle        nothing is left to apply; Redis has released the lease
//   leased      another worker applies the log, and sees the new entries at its next take
//   deep        the log is long or its strides are short: the workspace moves to `backlog`
//   unreadable  the workspace moves to `backlog`, where only its own job fails
//   taken       the stride is applied, and `afterStride` goes on
//
// `backlog` is the queue of deep workspaces. An idle or leased log is taken again if another job
// has named its workspace meanwhile. Once the job may not go on (`mayGoOn`), the remaining
// workspaces are woken again.
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { forgetWorkspace } from '../../queue/log/forget-workspace.ts'
import type { TakeResult, TakeRequest } from '../../queue/log/log.ts'
import type { Wake } from '../../queue/jobs/job-queues.ts'
import { withoutCause } from '../../queue/jobs/open-worker.ts'
import { describeFault, isUnavailable } from '../../runtime/fault.ts'
import { untilAvailable } from '../when-available.ts'
import { applyDeep, type AppliedStride, applyShared, type StrideDependencies, type TakenStride } from './apply-taken.ts'
import { FULL_STRIDE } from './stride-size.ts'

const BUDGET_MS = 250
/** The workspaces of a worker that dies wait until its leases run out. */
const LEASE_MS = 5_000
const RENEW_EVERY_MS = 1_250

type ApplyDependencies = StrideDependencies & {
  redis: RedisClient
  prefix: string
  wake: Wake
  /** The id of this worker, the holder of its leases. */
  worker: string
  /** How long applied entries stay in the logs. */
  redoMs: () => number
  /** Whether other jobs wait in the queue `backlog`, or an operator has paused this queue. */
  mustBacklogYield: () => Promise<boolean>
  now: () => number
  stop: AbortSignal
}

type ApplyLogs = {
  /**
   * Waits during an outage of Postgres, and throws once the worker stops. Throws other faults at
   * once. `isDeep`: for a job of the queue `backlog`.
   */
  apply: (workspaceIds: readonly string[], isDeep: boolean) => Promise<void>
  /** Ends the renewal of leases. */
  stop: () => void
}

export const createApplyLogs = (dependencies: ApplyDependencies): ApplyLogs => {
  const inHand = createInHand()
  const postponed = new Map<string, number>()
  const { now } = dependencies
  const begin = (workspaceIds: readonly string[]): Hand =>
    inHand.begin(workspaceIds.filter((id) => (postponed.get(id) ?? 0) <= now()))
  const renewing = setInterval(() => renewLeases(dependencies, inHand), RENEW_EVERY_MS)
  return {
    apply: async (workspaceIds, isDeep) => {
      const until = now() + BUDGET_MS
      const left = await applyLogs({ ...dependencies, hand: begin(workspaceIds), postponed, isDeep, until })
      await Promise.all(left.map((id) => dependencies.wake.wake(id, { submissions: 0, isDeep })))
    },
    stop: () => clearInterval(renewing),
  }
}

/** A stride can take longer than a lease. Without a renewal, the worker would count as dead. */
const renewLeases = ({ logs, worker }: ApplyDependencies, inHand: InHand): void => {
  const ids = inHand.ids()
  // The next renewal makes up for a failed one.
  if (ids.length > 0) logs.renew(worker, ids, LEASE_MS).catch(() => {})
}

type Job = ApplyDependencies & {
  hand: Hand
  /** Workspaces whose next submission failed, with the time of the next attempt. */
  postponed: Map<string, number>
  isDeep: boolean
  until: number
}

/** Applies until nothing is left or the job may not go on. Returns the workspaces to wake again. */
const applyLogs = async (job: Job): Promise<string[]> => {
  const { hand } = job
  let requests: TakeRequest[] = hand.ids().map((workspaceId) => ({ workspaceId }))
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
    return hand.ids().map((workspaceId) => ({ workspaceId }))
  }
}

/** Takes strides and applies them. Returns the requests for the next take. */
const applyRound = async (job: Job, requests: readonly TakeRequest[]): Promise<TakeRequest[]> => {
  const next: TakeRequest[] = []
  const strides: TakenStride[] = []
  for (const [at, taken] of (await take(job, requests)).entries()) {
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
  return next
}

const take = (job: Job, requests: readonly TakeRequest[], most = FULL_STRIDE.submissions): Promise<TakeResult[]> => {
  for (const { workspaceId } of requests) job.hand.unmark(workspaceId)
  return job.logs.take(requests, {
    worker: job.worker,
    leaseMs: LEASE_MS,
    submissions: Math.ceil(most / requests.length),
    bytes: Math.ceil(FULL_STRIDE.bytes / requests.length),
    takesDeep: job.isDeep,
    redoMs: job.redoMs(),
  })
}

/** The next request for a workspace; none if the job gives the workspace back. */
const afterStride = async (job: Job, { workspaceId, outcome, bound }: AppliedStride): Promise<TakeRequest[]> => {
  switch (outcome.end) {
    case 'applied':
      job.postponed.delete(workspaceId)
      return [{ workspaceId, applied: outcome.position, bound }]
    case 'behind':
      // A standby was promoted that lacks the last commits. The log still has their submissions.
      return [{ workspaceId, rewindTo: outcome.position }]
    case 'deleted':
      await forgetWorkspace(job.redis, job.prefix, workspaceId)
      job.hand.drop(workspaceId)
      return []
    case 'backlog':
      await giveToBacklog(job, workspaceId)
      return []
    case 'postponed':
      await postpone(job, { workspaceId, applied: outcome.position, bound }, outcome.ms)
      return []
  }
}

const giveToBacklog = async (job: Job, workspaceId: string): Promise<void> => {
  await job.logs.release(job.worker, [workspaceId])
  passOn(job, workspaceId)
}

/** Wakes a workspace through the queue `backlog`, and gives it back. */
const passOn = ({ wake, hand }: Job, workspaceId: string): void => {
  hand.drop(workspaceId)
  void wake.wake(workspaceId, { submissions: 0, isDeep: true })
}

const postpone = async (job: Job, request: TakeRequest, ms: number): Promise<void> => {
  const { workspaceId } = request
  job.postponed.set(workspaceId, job.now() + ms)
  // The timer wakes the workspace, so the result of `putBack` is not needed.
  await putBack(job, [request])
  job.hand.drop(workspaceId)
  setTimeout(() => void job.wake.wake(workspaceId, { submissions: 0, isDeep: true }), ms)
}

/**
 * Notes the positions and releases the leases. Passes on a log that has become deep. Returns the
 * other workspaces to wake: their logs have submissions left, or a job has named them meanwhile.
 */
const putBack = async (job: Job, requests: readonly TakeRequest[]): Promise<string[]> => {
  if (requests.length === 0) return []
  const left: string[] = []
  for (const [at, { outcome }] of (await take(job, requests, 0)).entries()) {
    const { workspaceId } = requests[at]!
    if (outcome === 'deep') passOn(job, workspaceId)
    else if (outcome === 'taken' || !job.hand.giveBack(workspaceId)) left.push(workspaceId)
  }
  return left
}

/** The workspaces of one job. */
type Hand = {
  ids: () => string[]
  /** Removes the mark. Call it before reading the workspace's log. */
  unmark: (workspaceId: string) => void
  /**
   * Gives a workspace back and returns true. Returns false if a job has named the workspace since
   * its log was read.
   */
  giveBack: (workspaceId: string) => boolean
  /** Gives workspaces back, marked or not. */
  drop: (...workspaceIds: readonly string[]) => void
}

type InHand = {
  /** Takes the workspaces that no job of this process has, and marks the others. */
  begin: (workspaceIds: readonly string[]) => Hand
  ids: () => string[]
}

/**
 * The workspaces whose logs this process is applying. Another job that names such a workspace only
 * marks it. The log of a marked workspace is read again before the workspace is given back. So the
 * process overlooks no entry, and never applies one log in two jobs.
 */
export const createInHand = (): InHand => {
  const marked = new Map<string, boolean>()
  return {
    begin: (workspaceIds) => {
      const own = new Set(workspaceIds.filter((id) => !marked.has(id)))
      for (const id of workspaceIds) marked.set(id, !own.has(id))
      const drop: Hand['drop'] = (...ids) => {
        for (const id of ids) if (own.delete(id)) marked.delete(id)
      }
      return {
        ids: () => [...own],
        unmark: (workspaceId) => void marked.set(workspaceId, false),
        giveBack: (workspaceId) => {
          if (marked.get(workspaceId)) return false
          drop(workspaceId)
          return true
        },
        drop,
      }
    },
    ids: () => [...marked.keys()],
  }
}

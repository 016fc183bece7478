import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { forgetWorkspace } from '../../queue/log/forget-workspace.ts'
import type { TakeRequest, TakeResult } from '../../queue/log/log.ts'
import type { Wake } from '../../queue/jobs/job-queues.ts'
import type { AppliedStride, StrideDependencies } from './apply-taken.ts'
import type { Hand } from './in-hand.ts'
import type { Staying } from './staying.ts'
import { FULL_STRIDE } from './stride-size.ts'

export type ApplyDependencies = StrideDependencies & {
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

/** A job that applies the logs of the workspaces in its hand. */
export type Job = ApplyDependencies & {
  hand: Hand
  staying: Staying
  /** Workspaces whose next submission failed, with the time of the next attempt. */
  postponed: Map<string, number>
  isDeep: boolean
  until: number
}

export const take = (
  job: Job,
  requests: readonly TakeRequest[],
  { most, leaseMs }: { most: number; leaseMs: number },
): Promise<TakeResult[]> => {
  for (const { workspaceId } of requests) job.hand.unmark(workspaceId)
  return job.logs.take(requests, {
    worker: job.worker,
    leaseMs,
    submissions: most,
    bytes: Math.ceil(FULL_STRIDE.bytes / requests.length),
    takesDeep: job.isDeep,
    redoMs: job.redoMs(),
  })
}

/** The next request for a workspace; none if the job gives the workspace back. */
export const afterStride = async (job: Job, { workspaceId, outcome, bound }: AppliedStride): Promise<TakeRequest[]> => {
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

export const giveToBacklog = async (job: Job, workspaceId: string): Promise<void> => {
  await job.logs.release(job.worker, [workspaceId])
  passOn(job, workspaceId)
}

/** Wakes a workspace through the queue `backlog`, and gives it back. */
export const passOn = ({ wake, hand }: Job, workspaceId: string): void => {
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
export const putBack = async (job: Job, requests: readonly TakeRequest[]): Promise<string[]> => {
  if (requests.length === 0) return []
  const left: string[] = []
  for (const [at, { outcome }] of (await take(job, requests, { most: 0, leaseMs: 0 })).entries()) {
    const { workspaceId } = requests[at]!
    if (outcome === 'deep') passOn(job, workspaceId)
    else if (outcome === 'taken' || !job.hand.giveBack(workspaceId)) left.push(workspaceId)
  }
  return left
}

import type { ListKnownWorkspaces } from '../../db/workspaces/known-workspaces.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import type { JobQueues } from '../../queue/jobs/job-queues.ts'
import { countQueued } from '../../queue/log/log-totals.ts'

/** A wake job is added every few milliseconds and is seldom about more submissions than this. */
const SUBMISSIONS_OF_A_WAKE_JOB = 250
const UNFINISHED = ['waiting', 'active', 'delayed'] as const

type Sources = { redis: RedisClient; prefix: string; queues: JobQueues; listWorkspaces: ListKnownWorkspaces }

/**
 * Counts the submissions that are not applied. While no workspace has much waiting and there are
 * few wake jobs, the jobs are counted instead, which is cheap and comes nowhere near the bound.
 */
export const countBacklog = async (
  { redis, prefix, queues, listWorkspaces }: Sources,
  mostBacklog: number,
): Promise<number> => {
  const [wakes, deep] = await Promise.all([
    queues.wake.getJobCountByTypes(...UNFINISHED),
    queues.backlog.getJobCountByTypes(...UNFINISHED),
  ])
  if (deep === 0 && wakes * SUBMISSIONS_OF_A_WAKE_JOB < mostBacklog) return wakes
  const workspaces = await listWorkspaces()
  return countQueued(
    redis,
    prefix,
    workspaces.map(({ id }) => id),
  )
}

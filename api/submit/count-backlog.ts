import type { ListKnownWorkspaces } from '../../db/workspaces/workspaces.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import type { JobQueues } from '../../queue/jobs/job-queues.ts'
import { countQueued } from '../../queue/log/log-totals.ts'

/** A wake job, added every few milliseconds, rarely concerns more submissions than this. */
const SUBMISSIONS_OF_A_WAKE_JOB = 250
const UNFINISHED = ['waiting', 'active', 'delayed'] as const

type Sources = { redis: RedisClient; prefix: string; queues: JobQueues; listWorkspaces: ListKnownWorkspaces }

/**
 * Counts the unapplied submissions. While no workspace has a long queue and there are few wake
 * jobs, it counts the jobs instead: that is cheap, and far below the bound.
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

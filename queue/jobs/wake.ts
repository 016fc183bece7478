import { coalesce } from '../../runtime/coalesce.ts'
import { JOB_OPTIONS, type JobQueues } from './job-queues.ts'

/** `isDeep`: much waits in the log, or its strides are short. */
export type WakeSize = { submissions: number; isDeep: boolean }

export type Wake = {
  /**
   * Adds a job that makes a worker apply the log. Never rejects: maintenance repeats a lost wake.
   */
  wake: (workspaceId: string, size: WakeSize) => Promise<void>
  /** Resolves when all pending wakes have ended. */
  ended: () => Promise<unknown>
}

/**
 * A job and its stride cost nearly the same for one workspace and for many. A lone wake goes at
 * once.
 */
const JOB_EVERY_MS = 50
const WORKSPACES_OF_A_JOB = 100
const WAKES_AT_ONCE = 10_000

type WakeRequest = { workspaceId: string } & WakeSize

/** Wakes within some milliseconds share jobs. The first one goes at once. */
export const createWake = ({ queues }: { queues: JobQueues }): Wake => {
  const share = coalesce<WakeRequest, void>(
    async (requests) => {
      await Promise.all([
        addSharedJobs(
          queues,
          requests.filter(({ isDeep }) => !isDeep),
        ),
        addDeepJobs(
          queues,
          requests.filter(({ isDeep }) => isDeep),
        ),
      ])
      return []
    },
    { items: WAKES_AT_ONCE, everyMs: JOB_EVERY_MS },
  )
  const underWay = new Set<Promise<void>>()
  return {
    wake: (workspaceId, size) => {
      const woken = share({ workspaceId, ...size })
        .catch(() => {})
        .finally(() => underWay.delete(woken))
      underWay.add(woken)
      return woken
    },
    ended: () => Promise.all(underWay),
  }
}

const addSharedJobs = async (queues: JobQueues, requests: readonly WakeRequest[]): Promise<void> => {
  const counts = [...sumByWorkspace(requests)]
  const jobs = Array.from({ length: Math.ceil(counts.length / WORKSPACES_OF_A_JOB) }, (_, at) =>
    counts.slice(at * WORKSPACES_OF_A_JOB, (at + 1) * WORKSPACES_OF_A_JOB),
  )
  if (jobs.length > 0) await queues.wake.addBulk(jobs.map((part) => jobOf(part)))
}

/**
 * One job for each workspace, so that a long log delays no other. At most one of them waits:
 * `openWorker` removes the deduplication key when a job begins.
 */
const addDeepJobs = async (queues: JobQueues, requests: readonly WakeRequest[]): Promise<void> => {
  const counts = [...sumByWorkspace(requests)]
  if (counts.length === 0) return
  await queues.backlog.addBulk(counts.map((count) => jobOf([count], { deduplication: { id: count[0] } })))
}

const sumByWorkspace = (requests: readonly WakeRequest[]): Map<string, number> => {
  const sums = new Map<string, number>()
  for (const { workspaceId, submissions } of requests) {
    sums.set(workspaceId, (sums.get(workspaceId) ?? 0) + submissions)
  }
  return sums
}

const jobOf = (counts: readonly (readonly [workspaceId: string, submissions: number])[], options = {}) => ({
  name: describe(
    counts.length,
    counts.reduce((sum, [, submissions]) => sum + submissions, 0),
  ),
  data: { workspaceIds: counts.map(([workspaceId]) => workspaceId) },
  opts: { ...JOB_OPTIONS, ...options },
})

const describe = (workspaces: number, submissions: number): string =>
  `${withNoun(workspaces, 'workspace')}, ${withNoun(submissions, 'submission')}`

const withNoun = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

import { coalesce } from '../../runtime/coalesce.ts'
import { JOB_OPTIONS, type JobQueues } from './job-queues.ts'

/** `isDeep`: much waits in the log, or its strides are short. */
export type Load = { submissions: number; isDeep: boolean }

export type Wake = {
  /**
   * Adds a job that makes a worker apply the log. Never rejects: maintenance repeats a lost wake.
   */
  wake: (workspaceId: string, load: Load) => Promise<void>
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

type Waking = { workspaceId: string } & Load

/** Wakes within some milliseconds share jobs. The first one goes at once. */
export const createWake = ({ queues }: { queues: JobQueues }): Wake => {
  const share = coalesce<Waking, void>(
    async (wakings) => {
      await Promise.all([
        addSharedJobs(
          queues,
          wakings.filter(({ isDeep }) => !isDeep),
        ),
        addDeepJobs(
          queues,
          wakings.filter(({ isDeep }) => isDeep),
        ),
      ])
      return []
    },
    { items: WAKES_AT_ONCE, everyMs: JOB_EVERY_MS },
  )
  const underWay = new Set<Promise<void>>()
  return {
    wake: (workspaceId, load) => {
      const woken = share({ workspaceId, ...load })
        .catch(() => {})
        .finally(() => underWay.delete(woken))
      underWay.add(woken)
      return woken
    },
    ended: () => Promise.all(underWay),
  }
}

const addSharedJobs = async (queues: JobQueues, wakings: readonly Waking[]): Promise<void> => {
  const loads = [...sumByWorkspace(wakings)]
  const jobs = Array.from({ length: Math.ceil(loads.length / WORKSPACES_OF_A_JOB) }, (_, at) =>
    loads.slice(at * WORKSPACES_OF_A_JOB, (at + 1) * WORKSPACES_OF_A_JOB),
  )
  if (jobs.length > 0) await queues.wake.addBulk(jobs.map((some) => jobOf(some)))
}

/**
 * One job for each workspace, so that a long log delays no other. At most one of them waits:
 * `openWorker` removes the deduplication key when a job begins.
 */
const addDeepJobs = async (queues: JobQueues, wakings: readonly Waking[]): Promise<void> => {
  const loads = [...sumByWorkspace(wakings)]
  if (loads.length === 0) return
  await queues.backlog.addBulk(loads.map((load) => jobOf([load], { deduplication: { id: load[0] } })))
}

const sumByWorkspace = (wakings: readonly Waking[]): Map<string, number> => {
  const sums = new Map<string, number>()
  for (const { workspaceId, submissions } of wakings) {
    sums.set(workspaceId, (sums.get(workspaceId) ?? 0) + submissions)
  }
  return sums
}

const jobOf = (loads: readonly (readonly [workspaceId: string, submissions: number])[], options = {}) => ({
  name: describe(
    loads.length,
    loads.reduce((sum, [, submissions]) => sum + submissions, 0),
  ),
  data: { workspaceIds: loads.map(([workspaceId]) => workspaceId) },
  opts: { ...JOB_OPTIONS, ...options },
})

const describe = (workspaces: number, submissions: number): string =>
  `${counted(workspaces, 'workspace')}, ${counted(submissions, 'submission')}`

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

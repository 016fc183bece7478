/**
 * From so many texts with people's tags one worker learns at once, in one workspace, and from so
 * many a second afterwards.
 */
export const LEARNED_AT_ONCE = 1_000
export const LEARNED_PER_SECOND = 10
/**
 * Fewer texts are not chosen out of more: learning from a single text takes five statements, too,
 * and the workspace's lock.
 */
export const LEARNED_TOGETHER = 100
/**
 * How often one worker learns, whatever the workspaces: at once, and in a second afterwards. Each
 * time is a job and five statements. Of 1,000 workspaces that send feedback with tags in turn, each
 * text came alone: its job cost more than all else about it.
 */
export const TIMES_AT_ONCE = 100
export const TIMES_PER_SECOND = 5

const MS_PER_SECOND = 1_000
/** Workspaces whose pace is remembered; every other workspace begins anew. */
const MOST_WORKSPACES = 10_000

export type LearningPace = {
  /**
   * Chooses from texts that people tagged the ones to learn from, spread over all of them when they
   * are too many.
   */
  choose: <T>(workspaceId: string, given: readonly T[]) => T[]
}

/** What may still be done, and when that was so. */
type Allowance = { left: number; at: number }
type Pace = { atOnce: number; perSecond: number }
const OF_WORKSPACE: Pace = { atOnce: LEARNED_AT_ONCE, perSecond: LEARNED_PER_SECOND }
const OF_WORKER: Pace = { atOnce: TIMES_AT_ONCE, perSecond: TIMES_PER_SECOND }

/**
 * Keeps learning from people's tags from taking the time that storing needs. Learning from a text
 * costs about 80 µs of the worker and 90 µs of Postgres, as much as storing it, and a workspace
 * that knows thousands of its texts gains little from one more.
 */
export const createLearningPace = (now: () => number): LearningPace => {
  const allowances = new Map<string, Allowance>()
  let ofAll: Allowance = { left: TIMES_AT_ONCE, at: now() }
  const allowed = (former: Allowance | undefined, { atOnce, perSecond }: Pace): number =>
    former === undefined ? atOnce : Math.min(atOnce, former.left + ((now() - former.at) / MS_PER_SECOND) * perSecond)
  return {
    choose: (workspaceId, given) => {
      const times = allowed(ofAll, OF_WORKER)
      if (given.length === 0 || times < 1) return []
      const allowance = allowed(allowances.get(workspaceId), OF_WORKSPACE)
      const most = allowance >= Math.min(given.length, LEARNED_TOGETHER) ? Math.floor(allowance) : 0
      const count = Math.min(given.length, most)
      if (count > 0) ofAll = { left: times - 1, at: now() }
      // Set anew, the workspace comes last: the first ones in the map are those that were quiet for
      // the longest time.
      allowances.delete(workspaceId)
      allowances.set(workspaceId, { left: allowance - count, at: now() })
      if (allowances.size > MOST_WORKSPACES) allowances.delete(allowances.keys().next().value!)
      return Array.from({ length: count }, (_, at) => given[Math.floor((at * given.length) / count)]!)
    },
  }
}

/**
 * One worker learns from at most this many tagged texts of a workspace at once, and then from
 * `LEARNED_PER_SECOND`.
 */
export const LEARNED_AT_ONCE = 1_000
export const LEARNED_PER_SECOND = 10
/**
 * While the allowance is below this number, a group of texts larger than the allowance is skipped:
 * learning takes several statements and the workspace's lock, even for a single text.
 */
export const LEARNED_TOGETHER = 100
/**
 * One worker learns at most this many times at once in all workspaces together, and then
 * `TIMES_PER_SECOND`. Each time costs a job and several statements. That matters when many
 * workspaces send single texts with tags.
 */
export const TIMES_AT_ONCE = 100
export const TIMES_PER_SECOND = 5

const MS_PER_SECOND = 1_000
/** The most workspaces whose allowance is remembered. Any other workspace has a full allowance. */
const MOST_WORKSPACES = 10_000

export type LearningPace = {
  /** Chooses texts to learn from, spread evenly over a group of texts that people tagged. */
  choose: <T>(workspaceId: string, given: readonly T[]) => T[]
}

/** The remaining allowance, and its time. */
type Allowance = { left: number; at: number }
type Pace = { atOnce: number; perSecond: number }
const OF_WORKSPACE: Pace = { atOnce: LEARNED_AT_ONCE, perSecond: LEARNED_PER_SECOND }
const OF_WORKER: Pace = { atOnce: TIMES_AT_ONCE, perSecond: TIMES_PER_SECOND }

/**
 * Bounds the time that learning from people's tags takes from storing. Learning from a text costs
 * about as much as storing it, and a workspace with thousands of texts gains little from one more.
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
      // Setting the key again moves it to the end of the map, so the longest idle workspace is
      // first.
      allowances.delete(workspaceId)
      allowances.set(workspaceId, { left: allowance - count, at: now() })
      if (allowances.size > MOST_WORKSPACES) allowances.delete(allowances.keys().next().value!)
      return Array.from({ length: count }, (_, at) => given[Math.floor((at * given.length) / count)]!)
    },
  }
}

/** From so many texts with people's tags one worker learns at once, in one workspace, and from so many a second afterwards. */
export const LEARNED_AT_ONCE = 1_000
export const LEARNED_PER_SECOND = 10
/** Fewer texts are not chosen out of more: learning from a single text takes five statements, too, and the workspace's lock. */
export const LEARNED_TOGETHER = 100

const MS_PER_SECOND = 1_000
/** Workspaces whose pace is remembered; every other workspace begins anew. */
const MOST_WORKSPACES = 10_000

export type LearningPace = {
  /** Chooses from texts that people tagged the ones to learn from, spread over all of them when they are too many. */
  choose: <T>(workspaceId: string, given: readonly T[]) => T[]
}

/**
 * Keeps learning from people's tags from taking the time that storing needs. Learning from a text costs about 80 µs of the
 * worker and 90 µs of Postgres, as much as storing it, and a workspace that knows thousands of its texts gains little from one
 * more.
 */
export const learningPace = (now: () => number): LearningPace => {
  const allowances = new Map<string, { left: number; at: number }>()
  const allowanceOf = (workspaceId: string): number => {
    const former = allowances.get(workspaceId)
    if (former === undefined) return LEARNED_AT_ONCE
    const regained = ((now() - former.at) / MS_PER_SECOND) * LEARNED_PER_SECOND
    return Math.min(LEARNED_AT_ONCE, former.left + regained)
  }
  return {
    choose: (workspaceId, given) => {
      if (given.length === 0) return []
      const allowance = allowanceOf(workspaceId)
      const most = allowance >= Math.min(given.length, LEARNED_TOGETHER) ? Math.floor(allowance) : 0
      const count = Math.min(given.length, most)
      // Set anew, the workspace comes last: the first ones in the map are those that were quiet for the longest time.
      allowances.delete(workspaceId)
      allowances.set(workspaceId, { left: allowance - count, at: now() })
      if (allowances.size > MOST_WORKSPACES) allowances.delete(allowances.keys().next().value!)
      return Array.from({ length: count }, (_, at) => given[Math.floor((at * given.length) / count)]!)
    },
  }
}

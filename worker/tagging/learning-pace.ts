/** Texts with people's tags that are learned from at once, and then a second, of one workspace by one worker. */
export const LEARNED_AT_ONCE = 1_000
export const LEARNED_PER_SECOND = 10
/** Fewer are not chosen out of more: learning from a single one takes five statements, too, and the workspace's lock. */
export const LEARNED_TOGETHER = 100

const MS_PER_SECOND = 1_000
/** Workspaces that are remembered; of the others everything is learned. */
const MOST_WORKSPACES = 10_000

export type LearningPace = {
  /** Of texts that people tagged, those to learn from: spread over all of them when they are too many. */
  choose: <T>(workspaceId: string, given: readonly T[]) => T[]
}

/**
 * Keeps what people's tags teach from taking the time of what is to be stored. Learning from a text costs about 80 µs of the worker and
 * 90 µs of Postgres, as much as storing it, and a workspace that knows thousands of its texts gains little from one more.
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
      // Again at the end: the first ones are those that nothing was heard of for the longest time.
      allowances.delete(workspaceId)
      allowances.set(workspaceId, { left: allowance - count, at: now() })
      if (allowances.size > MOST_WORKSPACES) allowances.delete(allowances.keys().next().value!)
      return Array.from({ length: count }, (_, at) => given[Math.floor((at * given.length) / count)]!)
    },
  }
}

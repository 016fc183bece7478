import type { Submission } from '../../contract/submission.ts'
import { FULL_STRIDE_SUBMISSIONS } from '../../queue/log/log.ts'

/** The time that a stride may take. */
export const STRIDE_MS = 250
/** The submissions of a full stride, and the most bytes to read for it. */
export const FULL_STRIDE = { submissions: FULL_STRIDE_SUBMISSIONS, bytes: 8 * 1024 * 1024 }

/** A stride with fewer submissions may take `PATIENCE` times as long. */
const FEW_SUBMISSIONS = 8
const PATIENCE = 4
/** A slow call shortens the strides only of workspaces with at least this share of its time. */
const SHARE_OF_A_CAUSE = 1 / 4
/** Only deaths set a bound of one (queue/lua/take.lua). */
const LEAST_BOUND = 2
/** After this many strides in a row that were not a cause of a slow call, the bound doubles. */
const IN_TIME_BEFORE_GROWTH = 3

/** This many messages or contacts of a conversation cost as much as one feedback. */
const PARTS_PER_WEIGHT = 5

/** The rough cost of a stride, in units of one feedback. */
export const weightOf = (submissions: readonly Submission[]): number =>
  submissions.reduce(
    (sum, { operation, body }) =>
      sum + 1 + (operation === 'submit_conversation' ? partsOf(body.messages, body.contacts) : 0),
    0,
  )

const partsOf = (...lists: readonly (readonly unknown[])[]): number =>
  lists.reduce((sum, list) => sum + list.length / PARTS_PER_WEIGHT, 0)

/** A stride, the time of the call that applied it, and the stride's share of this time. */
type StrideTime = { workspaceId: string; bound: number; submissions: number; ms: number; share: number }

export type StrideSizes = {
  /** The bound of the workspace's next stride; undefined to keep the bound. */
  next: (applied: StrideTime) => number | undefined
}

/**
 * Bounds the next strides of a workspace. A stride that is a cause of a slow call lowers the bound
 * in proportion to the time of the call. Several other strides in a row, all in this process, double
 * the bound.
 */
export const createStrideSizes = (): StrideSizes => {
  const inTime = new Map<string, number>()
  return {
    next: ({ workspaceId, bound, submissions, ms, share }) => {
      const allowedMs = submissions < FEW_SUBMISSIONS ? PATIENCE * STRIDE_MS : STRIDE_MS
      if (ms > allowedMs && share >= SHARE_OF_A_CAUSE) {
        inTime.delete(workspaceId)
        const shorter = Math.max(LEAST_BOUND, Math.floor((submissions * STRIDE_MS) / ms))
        return shorter < bound ? shorter : undefined
      }
      if (bound === Infinity) return undefined
      const count = (inTime.get(workspaceId) ?? 0) + 1
      inTime.set(workspaceId, count)
      if (count < IN_TIME_BEFORE_GROWTH) return undefined
      inTime.delete(workspaceId)
      return 2 * bound >= FULL_STRIDE.submissions ? Infinity : 2 * bound
    },
  }
}

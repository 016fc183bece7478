import type { Submission } from '../../contract/submission.ts'
import { FULL_STRIDE as FULL_STRIDE_SUBMISSIONS } from '../../queue/log/take.ts'

/** How long a stride may take. */
export const STRIDE_MS = 250
/** The submissions of a full stride, and the bytes that are read for it. */
export const FULL_STRIDE = { submissions: FULL_STRIDE_SUBMISSIONS, bytes: 8 * 1024 * 1024 }

/**
 * A stride with fewer submissions may take longer by `PATIENCE`: the work of others can be the
 * reason.
 */
const FEW = 8
const PATIENCE = 4
/** A workspace with this share of a stride may be the reason why the stride was slow. */
const SHARE = 1 / 4
/** Only deaths make strides of one (quarantine.ts). */
const LEAST = 2
/** So many strides in time, one after the other, double the bound. */
const IN_TIME_BEFORE_GROWTH = 3

/** A conversation costs as much as so many of its messages and contacts. */
const PARTS_PER_WEIGHT = 5

/** Roughly what a stride costs, compared with one feedback. */
export const weightOf = (submissions: readonly Submission[]): number =>
  submissions.reduce(
    (sum, { operation, body }) =>
      sum + 1 + (operation === 'submit_conversation' ? partsOf(body.messages, body.contacts) : 0),
    0,
  )

const partsOf = (...lists: readonly (readonly unknown[])[]): number =>
  lists.reduce((sum, list) => sum + list.length / PARTS_PER_WEIGHT, 0)

/**
 * A stride that was applied: its bound, its submissions, the time it took, its share of what took
 * the time.
 */
type Applied = { workspaceId: string; stride: number; submissions: number; ms: number; share: number }

export type StrideSizes = {
  /** The bound of the workspace's next stride; undefined when it stays as it is. */
  next: (applied: Applied) => number | undefined
}

/**
 * Decides how large the next stride of a workspace is: smaller in proportion after a slow one,
 * twice as large after some in time. A worker that dies forgets the count, so strides that deaths
 * have halved stay small until the submission that kills workers is passed.
 */
export const createStrideSizes = (): StrideSizes => {
  const inTime = new Map<string, number>()
  return {
    next: ({ workspaceId, stride, submissions, ms, share }) => {
      const allowedMs = submissions < FEW ? PATIENCE * STRIDE_MS : STRIDE_MS
      if (ms > allowedMs && share >= SHARE) {
        inTime.delete(workspaceId)
        const shorter = Math.max(LEAST, Math.floor((submissions * STRIDE_MS) / ms))
        return shorter < stride ? shorter : undefined
      }
      if (stride === Infinity) return undefined
      const count = (inTime.get(workspaceId) ?? 0) + 1
      inTime.set(workspaceId, count)
      if (count < IN_TIME_BEFORE_GROWTH) return undefined
      inTime.delete(workspaceId)
      return 2 * stride >= FULL_STRIDE.submissions ? Infinity : 2 * stride
    },
  }
}

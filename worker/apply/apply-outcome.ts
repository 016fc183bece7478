import type { Tracing } from '../../runtime/tracing.ts'
import type { Taken, TakeRequest } from '../../queue/log/take.ts'
import type { OnApplyTime } from '../apply-times.ts'
import type { Quarantine } from '../quarantine.ts'
import type { FaultDependencies } from './apply-faults.ts'
import type { StrideResult } from './stride.ts'
import type { AppliedStride, FollowUpDependencies } from './follow-up.ts'
import { type StrideSizes, weightOf } from './stride-size.ts'

/** The dependencies of applying a taken stride. */
export type StrideDependencies = FaultDependencies &
  FollowUpDependencies & {
    quarantine: Quarantine
    strideSizes: StrideSizes
    tracing: Tracing | undefined
    onApplyTime: OnApplyTime
  }

export type TakenStride = Extract<Taken, { outcome: 'taken' }> & { workspaceId: string }

/**
 * The result of a stride. `next`: the workspace goes on; `deleted`: it is gone; `failing`: it fails
 * by itself, and moves to the backlog; `postponed`: its next submission is tried again later.
 */
export type ApplyOutcome =
  | { kind: 'next'; workspaceId: string; request: TakeRequest }
  | { kind: 'deleted' | 'failing'; workspaceId: string }
  | { kind: 'postponed'; workspaceId: string; request: TakeRequest; ms: number }

export const isApplied = (result: StrideResult): result is AppliedStride => result.outcome === 'applied'

/**
 * The outcome of the last result of a workspace. `stride`: the bound to note for its next strides.
 */
export const outcomeOf = (workspaceId: string, last: StrideResult | undefined, stride?: number): ApplyOutcome => {
  switch (last?.outcome) {
    case 'deleted':
      return { kind: 'deleted', workspaceId }
    case 'behind':
      // Postgres has lost applied submissions, since a standby was promoted. The log still has
      // them.
      return { kind: 'next', workspaceId, request: { workspaceId, after: last.position } }
    case 'applied':
      return { kind: 'next', workspaceId, request: requestAt(workspaceId, last.position, stride) }
    case undefined:
      return { kind: 'next', workspaceId, request: { workspaceId } }
  }
}

/** Requests the submissions behind a position, and notes the position. */
export const requestAt = (workspaceId: string, position: number, stride?: number): TakeRequest => ({
  workspaceId,
  applied: position,
  after: position,
  ...(stride !== undefined && { stride }),
})

/**
 * Counts the time of strides that were applied together. Returns the bounds of the next strides.
 */
export const noteTimes = (
  { onApplyTime, strideSizes }: StrideDependencies,
  strides: readonly TakenStride[],
  ms: number,
): (number | undefined)[] => {
  const weights = strides.map(({ submissions }) => weightOf(submissions))
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  return strides.map(({ workspaceId, stride, submissions }, at) => {
    const share = weights[at]! / all
    onApplyTime(workspaceId, (ms * share) / 1_000)
    return strideSizes.next({ workspaceId, stride, submissions: submissions.length, ms, share })
  })
}

import type { TakeResult } from '../../queue/log/log.ts'
import type { Tracing } from '../../runtime/tracing.ts'
import type { OnApplyTime } from '../apply-times.ts'
import type { Quarantine } from '../quarantine.ts'
import { beginStride, endStride } from '../trace-jobs.ts'
import { applyOrHalve, applyTogether, type FaultDependencies, giveUp } from './apply-safely.ts'
import { followUp, type FollowUpDependencies } from './follow-up.ts'
import type { StrideOutcome } from './stride-outcome.ts'
import { type StrideSizes, weightOf } from './stride-size.ts'

/** The dependencies of applying a taken stride. */
export type StrideDependencies = FaultDependencies &
  FollowUpDependencies & {
    quarantine: Quarantine
    strideSizes: StrideSizes
    tracing: Tracing | undefined
    onApplyTime: OnApplyTime
  }

export type TakenStride = Extract<TakeResult, { outcome: 'taken' }> & { workspaceId: string }

/** `bound`: for the next strides of the workspace; undefined if it stays. */
export type AppliedStride = { workspaceId: string; outcome: StrideOutcome; bound: number | undefined }

/** A submission ends as dead after this many deaths of workers in quarantine. */
const MOST_QUARANTINE_DEATHS = 3

/** Applies strides of several workspaces together, and follows them up. */
export const applyShared = async (
  dependencies: StrideDependencies,
  strides: readonly TakenStride[],
): Promise<AppliedStride[]> => {
  const { quarantine, tracing } = dependencies
  const submissions = strides.flatMap((stride) => stride.submissions)
  const spans = beginStride(tracing, 'wake', submissions)
  const { result: outcomes, ms } = await quarantine.shared(() => timed(() => applyTogether(dependencies, strides)))
  const bounds = noteTimes(dependencies, strides, ms)
  const applied = strides.map(({ workspaceId }, at) => ({ workspaceId, outcome: outcomes[at]!, bound: bounds[at] }))
  endStride(spans, await followUp(dependencies, { applied, spans, isDeep: false }))
  return applied
}

/** Applies a stride of one deep workspace, and follows it up. */
export const applyDeep = async (dependencies: StrideDependencies, stride: TakenStride): Promise<AppliedStride> => {
  const { quarantine, tracing, attempts } = dependencies
  const { workspaceId } = stride
  const spans = beginStride(tracing, 'backlog', stride.submissions)
  // Only deaths set a bound of one, so this submission may have killed workers.
  const { result: outcome, ms } =
    stride.bound === 1
      ? await quarantine.exclusive(() => timed(() => applyInQuarantine(dependencies, stride)))
      : await quarantine.shared(() => timed(() => applyOrHalve(dependencies, stride)))
  endStride(spans, outcome.dead)
  const [bound] = noteTimes(dependencies, [stride], ms)
  const applied = { workspaceId, outcome, bound }
  endStride(spans, await followUp(dependencies, { applied: [applied], spans, isDeep: true }))
  if (outcome.end !== 'postponed') attempts.delete(workspaceId)
  return applied
}

const timed = async <T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> => {
  const beganAt = performance.now()
  return { result: await work(), ms: performance.now() - beganAt }
}

/**
 * Applies the only submission of a stride while this worker applies, removes and tags nothing else.
 * So a death counts against the submission.
 */
const applyInQuarantine = async (dependencies: StrideDependencies, stride: TakenStride): Promise<StrideOutcome> => {
  const { logs } = dependencies
  const { workspaceId, quarantineDeaths } = stride
  const isGivenUp = quarantineDeaths >= MOST_QUARANTINE_DEATHS
  if (!isGivenUp) await logs.noteQuarantine(workspaceId)
  try {
    if (!isGivenUp) return await applyOrHalve(dependencies, stride)
    return await giveUp(dependencies, stride, { attempts: quarantineDeaths, reason: 'GivenUp stalled' })
  } finally {
    await logs.noteSurvived(workspaceId)
  }
}

/**
 * Counts the time of strides that were applied together. Returns for each the bound of the next
 * strides of its workspace; undefined for a bound that stays.
 */
const noteTimes = (
  { onApplyTime, strideSizes }: StrideDependencies,
  strides: readonly TakenStride[],
  ms: number,
): (number | undefined)[] => {
  const weights = strides.map(({ submissions }) => weightOf(submissions))
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  return strides.map(({ workspaceId, bound, submissions }, at) => {
    const share = weights[at]! / all
    onApplyTime(workspaceId, (ms * share) / 1_000)
    return strideSizes.next({ workspaceId, bound, submissions: submissions.length, ms, share })
  })
}

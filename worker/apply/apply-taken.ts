import type { TakeResult, TakeRequest } from '../../queue/log/log.ts'
import type { Tracing } from '../../runtime/tracing.ts'
import type { OnApplyTime } from '../apply-times.ts'
import type { Quarantine } from '../quarantine.ts'
import { beginStride, endStride } from '../trace-jobs.ts'
import { type ApplyResult, applyOrHalve, applyOrSplit, type FaultDependencies, giveUp } from './apply-safely.ts'
import type { StrideResult } from './stride-work.ts'
import { type AppliedStride, followUp, type FollowUpDependencies } from './follow-up.ts'
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

/**
 * What follows a stride. `next`: the next take; `deleted`: the workspace is deleted; `failing`: the
 * stride fails even alone, so the workspace moves to the backlog; `postponed`: the next attempt at
 * the same submission, after `ms`.
 */
export type ApplyOutcome =
  | { kind: 'next'; workspaceId: string; request: TakeRequest }
  | { kind: 'deleted' | 'failing'; workspaceId: string }
  | { kind: 'postponed'; workspaceId: string; request: TakeRequest; ms: number }

/** A submission ends as dead after this many deaths of workers in quarantine. */
const MOST_QUARANTINE_DEATHS = 3

/** Applies strides of several workspaces together, and follows them up. */
export const applyShared = async (
  dependencies: StrideDependencies,
  strides: readonly TakenStride[],
): Promise<ApplyOutcome[]> => {
  const { quarantine, tracing } = dependencies
  const submissions = strides.flatMap((stride) => stride.submissions)
  const spans = beginStride(tracing, 'wake', submissions)
  const { applied, failing, ms } = await quarantine.shared(() => timed(() => applyOrSplit(dependencies, strides)))
  const bounds = noteTimes(dependencies, strides, ms)
  const followed = [...applied].map(([workspaceId, result]) => ({ workspaceId, results: [result].filter(isApplied) }))
  endStride(spans, await followUp(dependencies, { followed, spans, isDeep: false }))
  return strides.map(({ workspaceId }, at) =>
    failing.includes(workspaceId)
      ? { kind: 'failing', workspaceId }
      : outcomeOf(workspaceId, applied.get(workspaceId), bounds[at]),
  )
}

/** Applies a stride of one deep workspace, and follows it up. */
export const applyDeep = async (dependencies: StrideDependencies, stride: TakenStride): Promise<ApplyOutcome> => {
  const { quarantine, tracing, attempts } = dependencies
  const { workspaceId } = stride
  const spans = beginStride(tracing, 'backlog', stride.submissions)
  // Only deaths set a bound of one, so this submission may have killed workers.
  const { results, dead, postponedMs, ms } =
    stride.bound === 1
      ? await quarantine.exclusive(() => timed(() => applyInQuarantine(dependencies, stride)))
      : await quarantine.shared(() => timed(() => applyOrHalve(dependencies, stride)))
  endStride(spans, dead)
  const [bound] = noteTimes(dependencies, [stride], ms)
  const followed = [{ workspaceId, results: results.filter(isApplied) }]
  endStride(spans, await followUp(dependencies, { followed, spans, isDeep: true }))
  if (postponedMs === undefined) attempts.delete(workspaceId)
  const outcome = outcomeOf(workspaceId, results.at(-1), bound)
  if (postponedMs === undefined || outcome.kind !== 'next') return outcome
  return { ...outcome, kind: 'postponed', ms: postponedMs }
}

const timed = async <T extends object>(work: () => Promise<T>): Promise<T & { ms: number }> => {
  const beganAt = performance.now()
  return { ...(await work()), ms: performance.now() - beganAt }
}

/**
 * Applies the only submission of a stride while this worker applies, removes and tags nothing else.
 * So a death counts against the submission.
 */
const applyInQuarantine = async (dependencies: StrideDependencies, stride: TakenStride): Promise<ApplyResult> => {
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

const isApplied = (result: StrideResult): result is AppliedStride => result.outcome === 'applied'

/** The outcome of the last result of a workspace. `bound`: for its next strides. */
const outcomeOf = (workspaceId: string, last: StrideResult | undefined, bound?: number): ApplyOutcome => {
  switch (last?.outcome) {
    case 'deleted':
      return { kind: 'deleted', workspaceId }
    case 'behind':
      // A standby was promoted that lacks the last commits. The log still has their submissions.
      return { kind: 'next', workspaceId, request: { workspaceId, rewindTo: last.position } }
    case 'applied':
      return { kind: 'next', workspaceId, request: { workspaceId, applied: last.position, bound } }
    case undefined:
      return { kind: 'next', workspaceId, request: { workspaceId } }
  }
}

import { isUnavailable } from '../../runtime/fault.ts'
import { whileItMoves } from '../../runtime/within-time.ts'
import type { Taken, TakeRequest } from '../../queue/log/take.ts'
import { beginStride, endStride, type StrideSpans } from '../trace-jobs.ts'
import { type Applied, applyHalving, giveUp } from './apply-faults.ts'
import {
  type ApplyOutcome,
  isApplied,
  noteTimes,
  outcomeOf,
  requestAt,
  type StrideDependencies,
  type TakenStride,
} from './apply-taken.ts'
import { applyBusy } from './busy-session.ts'
import { type AppliedStride, followUp } from './follow-up.ts'
import { FULL_STRIDE } from './stride-size.ts'
import { logBlockers } from './log-blockers.ts'

/** So many deaths of workers that did nothing else end a submission. */
const MOST_DEATHS_ALONE = 3

/** Notes a position and reads on; undefined when the worker may not go on. */
type ReadAhead = (request: TakeRequest) => Promise<Taken | undefined>

/**
 * Applies a stride of one workspace that has much to apply, or short strides, and what follows from
 * it.
 */
export const applyDeep = async (
  dependencies: StrideDependencies,
  stride: TakenStride,
  readAhead: ReadAhead,
): Promise<ApplyOutcome> => {
  const { workspaceId } = stride
  if (isBusy(stride)) {
    const request = await applySession(dependencies, stride, readAhead)
    if (request !== undefined) return { kind: 'next', workspaceId, request }
  }
  const spans = beginStride(dependencies.tracing, 'backlog', stride.submissions)
  const { applied, ms } = await applyTimed(dependencies, stride)
  endStride(spans, applied.dead)
  const bound = await followDeep(dependencies, stride, { results: applied.results.filter(isApplied), ms, spans })
  if (applied.postponedMs === undefined) dependencies.attempts.delete(workspaceId)
  const outcome = outcomeOf(workspaceId, applied.results.at(-1), bound)
  if (applied.postponedMs === undefined || outcome.kind !== 'next') return outcome
  return { ...outcome, kind: 'postponed', ms: applied.postponedMs }
}

/**
 * Notes how long a stride took, adds the jobs that follow from it, and returns the bound of the
 * next one.
 */
const followDeep = async (
  dependencies: StrideDependencies,
  stride: TakenStride,
  { results, ms, spans }: { results: readonly AppliedStride[]; ms: number; spans: StrideSpans },
): Promise<number | undefined> => {
  const [bound] = noteTimes(dependencies, [stride], ms)
  const followed = [{ workspaceId: stride.workspaceId, results }]
  endStride(spans, await followUp(dependencies, { followed, spans, isDeep: true }))
  return bound
}

const applyTimed = (
  dependencies: StrideDependencies,
  stride: TakenStride,
): Promise<{ applied: Applied; ms: number }> => {
  const { quarantine } = dependencies
  const timed = async (apply: typeof applyAlone): Promise<{ applied: Applied; ms: number }> => {
    const beganAt = performance.now()
    return { applied: await apply(dependencies, stride), ms: performance.now() - beganAt }
  }
  // Only deaths make strides of one: the submission may be what kills workers.
  return stride.stride === 1
    ? quarantine.exclusive(() => timed(applyAlone))
    : quarantine.shared(() => timed(applyHalving))
}

/** In quarantine. Only deaths of workers that did nothing else count against a submission. */
const applyAlone = async (dependencies: StrideDependencies, stride: TakenStride): Promise<Applied> => {
  const { logs } = dependencies
  const { workspaceId, deathsAlone, submissions } = stride
  const first = { ...stride, submissions: submissions.slice(0, 1) }
  if (deathsAlone < MOST_DEATHS_ALONE) await logs.noteAlone(workspaceId)
  try {
    if (deathsAlone < MOST_DEATHS_ALONE) return await applyHalving(dependencies, first)
    const death = { attempts: deathsAlone, reason: 'GivenUp stalled' }
    return await giveUp(dependencies, first, death)
  } finally {
    await logs.noteSurvived(workspaceId)
  }
}

/**
 * A purge ends a session, and short strides show that the workspace is slow: neither gains from it.
 */
const isBusy = ({ stride, submissions, isMore }: TakenStride): boolean =>
  stride === Infinity &&
  isMore &&
  submissions.length >= FULL_STRIDE.submissions / 2 &&
  submissions.every(({ operation }) => operation !== 'purge_contact')

/**
 * Applies stride after stride, each while the one before it is being saved. Returns what to take
 * next; undefined when nothing was applied, since something needs a closer look.
 */
const applySession = async (
  dependencies: StrideDependencies,
  first: TakenStride,
  readAhead: ReadAhead,
): Promise<TakeRequest | undefined> => {
  const { workspaceId } = first
  const { quarantine, answerWithinMs, tracing, log } = dependencies
  let request: TakeRequest | undefined
  const run = async (moved: () => void): Promise<void> => {
    const readNext = async (after: number): Promise<TakenStride | undefined> => {
      moved()
      const taken = await readAhead({ workspaceId, ...request, after })
      return taken?.outcome === 'taken' && taken.submissions.length > 0 ? { ...taken, workspaceId } : undefined
    }
    let beganAt = performance.now()
    for await (const { submissions, result } of applyBusy(dependencies, first, readNext)) {
      moved()
      const ms = performance.now() - beganAt
      beganAt += ms
      const spans = beginStride(tracing, 'backlog', submissions)
      const bound = await followDeep(dependencies, { ...first, submissions }, { results: [result], ms, spans })
      request = requestAt(workspaceId, result.position, bound)
    }
  }
  try {
    await logBlockers({ sql: dependencies.sql, log, workspaceIds: [workspaceId] }, () =>
      quarantine.shared(() => whileItMoves(run, answerWithinMs)),
    )
  } catch (error) {
    if (isUnavailable(error)) throw error
    log('debug', 'session_failed', { workspaceId })
  }
  return request
}

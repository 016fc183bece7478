import { isUnavailable } from '../../process/fault.ts'
import { whileItMoves } from '../../process/within-time.ts'
import type { Taken, TakeRequest } from '../../queue/take.ts'
import { beginStride, endStride } from '../trace-jobs.ts'
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
import { followUp } from './follow-up.ts'
import { FULL_STRIDE } from './stride-size.ts'

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
  const [bound] = noteTimes(dependencies, [stride], ms)
  const results = applied.results.filter(isApplied)
  endStride(spans, applied.dead)
  endStride(spans, await followUp(dependencies, { followed: [{ workspaceId, results }], spans, isDeep: true }))
  if (applied.postponedMs === undefined) dependencies.attempts.delete(workspaceId)
  const outcome = outcomeOf(workspaceId, applied.results.at(-1), bound)
  if (applied.postponedMs === undefined || outcome.kind !== 'next') return outcome
  return { ...outcome, kind: 'postponed', ms: applied.postponedMs }
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
  const { quarantine, answerWithinMs, log } = dependencies
  let request: TakeRequest | undefined
  let beganAt = performance.now()
  const run = (moved: () => void): Promise<void> =>
    applyBusy(dependencies, first, {
      readNext: async (position, after) => {
        moved()
        const noted = position === undefined ? { workspaceId } : requestAt(workspaceId, position, request?.stride)
        const taken = await readAhead({ ...noted, after })
        return taken?.outcome === 'taken' && taken.submissions.length > 0 ? { ...taken, workspaceId } : undefined
      },
      onApplied: async (result, submissions) => {
        moved()
        const [bound] = noteTimes(
          dependencies,
          [{ ...first, submissions: [...submissions] }],
          performance.now() - beganAt,
        )
        beganAt = performance.now()
        const spans = beginStride(dependencies.tracing, 'backlog', submissions)
        endStride(
          spans,
          await followUp(dependencies, { followed: [{ workspaceId, results: [result] }], spans, isDeep: true }),
        )
        request = requestAt(workspaceId, result.position, bound)
      },
    })
  try {
    await quarantine.shared(() => whileItMoves(run, answerWithinMs))
  } catch (error) {
    if (isUnavailable(error)) throw error
    log('debug', 'session_failed', { workspaceId })
  }
  return request
}

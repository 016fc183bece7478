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
} from './apply-outcome.ts'
import { applyBusy } from './busy-session.ts'
import { type AppliedStride, followUp } from './follow-up.ts'
import { FULL_STRIDE } from './stride-size.ts'
import { logBlockers } from './log-blockers.ts'

/** A submission ends as dead after this many deaths of workers in quarantine. */
const MOST_QUARANTINE_DEATHS = 3

/** Notes a position and takes the next submissions. Undefined when the worker must stop. */
type ReadAhead = (request: TakeRequest) => Promise<Taken | undefined>

/** Applies a stride of one deep workspace, and follows it up. */
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
 * Counts the time of a stride, adds the jobs that it needs, and returns the bound of the next
 * stride.
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
  const timed = async (apply: typeof applyInQuarantine): Promise<{ applied: Applied; ms: number }> => {
    const beganAt = performance.now()
    return { applied: await apply(dependencies, stride), ms: performance.now() - beganAt }
  }
  // Only deaths make strides of one, so this submission may be the one that kills workers.
  return stride.stride === 1
    ? quarantine.exclusive(() => timed(applyInQuarantine))
    : quarantine.shared(() => timed(applyHalving))
}

/**
 * Applies the first submission in quarantine. A death counts against a submission only if the
 * worker did nothing else.
 */
const applyInQuarantine = async (dependencies: StrideDependencies, stride: TakenStride): Promise<Applied> => {
  const { logs } = dependencies
  const { workspaceId, quarantineDeaths, submissions } = stride
  const first = { ...stride, submissions: submissions.slice(0, 1) }
  if (quarantineDeaths < MOST_QUARANTINE_DEATHS) await logs.noteQuarantine(workspaceId)
  try {
    if (quarantineDeaths < MOST_QUARANTINE_DEATHS) return await applyHalving(dependencies, first)
    const death = { attempts: quarantineDeaths, reason: 'GivenUp stalled' }
    return await giveUp(dependencies, first, death)
  } finally {
    await logs.noteSurvived(workspaceId)
  }
}

/**
 * A session is for full strides without purges: a purge would end it, and short strides mean that
 * the workspace is slow.
 */
const isBusy = ({ stride, submissions, isMore }: TakenStride): boolean =>
  stride === Infinity &&
  isMore &&
  submissions.length >= FULL_STRIDE.submissions / 2 &&
  submissions.every(({ operation }) => operation !== 'purge_contact')

/**
 * Applies strides one after the other. It reads the next stride while Postgres saves the one
 * before. Returns the next request, or undefined if it applied nothing: the stride then has to be
 * applied without a session.
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

import type { HashKey } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import { findBlockers } from '../../db/connection/blockers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { setAside } from '../../db/submissions/dead.ts'
import { readPosition } from '../../db/submissions/position.ts'
import { describeFault, isPermanentFault, isUnavailable } from '../../runtime/fault.ts'
import type { Logger } from '../../runtime/logger.ts'
import { withinTime } from '../../runtime/within-time.ts'
import type { Ending } from '../trace-jobs.ts'
import { applyStrides } from './apply-strides.ts'
import type { OnSettled } from './follow-up.ts'
import type { Stride, StrideResult } from './stride-work.ts'

/** The most attempts at a single submission whose fault may pass. */
const MOST_ATTEMPTS = 8
const FIRST_PAUSE_MS = 250

/** By workspace: the number of a failing submission, and how often it failed in this process. */
type Attempts = Map<string, { number: number; count: number }>

export type FaultDependencies = {
  sql: Sql
  hashKey: HashKey
  /** The workspaces that had purges, as far as this process knows. */
  purgedWorkspaces: Set<string>
  log: Logger
  /** A stride that takes longer counts as an outage of Postgres: its connection may hang. */
  answerWithinMs: number
  onSettled: OnSettled
  attempts: Attempts
}

/**
 * `dead`: the submissions that were set aside, by id. `postponedMs`: the pause before the next
 * attempt at a failed submission.
 */
export type ApplyResult = { results: StrideResult[]; dead: Map<string, Ending>; postponedMs?: number }

/**
 * Applies strides of several workspaces together. If that fails, it applies each stride alone,
 * since one workspace may be the cause. `failing`: the workspaces whose strides fail even alone.
 *
 * @throws when Postgres is away
 */
export const applyOrSplit = async (
  dependencies: FaultDependencies,
  strides: readonly Stride[],
): Promise<{ applied: Map<string, StrideResult>; failing: string[] }> => {
  try {
    return { applied: await applyWatched(dependencies, strides), failing: [] }
  } catch (error) {
    if (isUnavailable(error)) throw error
    if (strides.length === 1) return { applied: new Map(), failing: [strides[0]!.workspaceId] }
  }
  const each: Awaited<ReturnType<typeof applyOrSplit>> = { applied: new Map(), failing: [] }
  for (const stride of strides) {
    const { applied, failing } = await applyOrSplit(dependencies, [stride])
    for (const [workspaceId, result] of applied) each.applied.set(workspaceId, result)
    each.failing.push(...failing)
  }
  return each
}

const applyWatched = (dependencies: FaultDependencies, strides: readonly Stride[]): ReturnType<typeof applyStrides> =>
  logBlockers({ ...dependencies, workspaceIds: strides.map(({ workspaceId }) => workspaceId) }, () =>
    withinTime(applyStrides(dependencies, strides), dependencies.answerWithinMs),
  )

const LOOK_FOR_BLOCKERS_EVERY_MS = 3_000

/**
 * Does work in Postgres. While it lasts, looks for other programs whose locks delay the service,
 * and logs their sessions once.
 */
export const logBlockers = async <T>(
  { sql, log, workspaceIds }: { sql: Sql; log: Logger; workspaceIds: readonly string[] },
  work: () => Promise<T>,
): Promise<T> => {
  const check = async (): Promise<void> => {
    const blockers = await findBlockers(sql).catch(() => [])
    if (blockers.length > 0) clearInterval(timer)
    for (const { pid, role, program, seconds } of blockers) {
      log('warn', 'waiting_for_lock', { workspaceIds, seconds, pid, role, program })
    }
  }
  const timer = setInterval(() => void check(), LOOK_FOR_BLOCKERS_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Applies a stride of one workspace. If that fails, it halves the stride until the bad submission
 * is alone. Then it postpones this submission, or sets it aside as dead and goes on.
 *
 * @throws when Postgres is away
 */
export const applyOrHalve = async (dependencies: FaultDependencies, stride: Stride): Promise<ApplyResult> => {
  const { workspaceId, submissions } = stride
  try {
    return { results: [(await applyWatched(dependencies, [stride])).get(workspaceId)!], dead: new Map() }
  } catch (error) {
    if (isUnavailable(error)) throw error
    if (submissions.length === 1) return postponeOrGiveUp(dependencies, stride, error)
  }
  const middle = Math.ceil(submissions.length / 2)
  const first = await applyOrHalve(dependencies, { ...stride, submissions: submissions.slice(0, middle) })
  const after = submissions[middle - 1]!.number
  if (first.postponedMs !== undefined || !isThrough(first.results)) return first
  const second = await applyOrHalve(dependencies, { workspaceId, after, submissions: submissions.slice(middle) })
  return { ...second, results: [...first.results, ...second.results], dead: new Map([...first.dead, ...second.dead]) }
}

/** A stride can end early if its workspace was deleted or Postgres has lost its last commits. */
const isThrough = (results: readonly StrideResult[]): boolean => results.at(-1)?.outcome === 'applied'

const postponeOrGiveUp = async (
  dependencies: FaultDependencies,
  stride: Stride,
  error: unknown,
): Promise<ApplyResult> => {
  const { workspaceId, submissions } = stride
  const { number, submissionId } = submissions[0]!
  const former: { number: number; count: number } | undefined = dependencies.attempts.get(workspaceId)
  const count = former?.number === number ? former.count + 1 : 1
  const reason = describeFault(error)
  if (!isPermanentFault(error) && count < MOST_ATTEMPTS) {
    dependencies.attempts.set(workspaceId, { number, count })
    dependencies.log('error', 'apply_failed', { workspaceId, submissionId, attempts: count, fault: reason })
    return { results: [], dead: new Map(), postponedMs: FIRST_PAUSE_MS * 2 ** (count - 1) }
  }
  return giveUp(dependencies, stride, { attempts: count, reason })
}

/** Sets the only submission of a stride aside as dead, unless another writer has passed it. */
export const giveUp = async (
  dependencies: FaultDependencies,
  stride: Stride,
  why: { attempts: number; reason: string },
): Promise<ApplyResult> => {
  const { sql, hashKey, log, onSettled } = dependencies
  const { workspaceId, after, submissions } = stride
  const { attempts, reason } = why
  const submission = submissions[0]!
  const { number, submissionId, operation } = submission
  const dead = new Map<string, Ending>()
  const resultAt = (position: number, found: Submission[]): ApplyResult => ({
    results: [{ outcome: 'applied', position, applied: [], found, decided: [] }],
    dead,
  })
  const position = await readPosition(sql, workspaceId)
  if (position === undefined) return { results: [{ outcome: 'deleted' }], dead }
  if (position < after) return { results: [{ outcome: 'behind', position }], dead }
  if (position >= number) return resultAt(position, [submission])
  // Another writer has moved the position since `readPosition`.
  if (!(await setAside(sql, hashKey, { submission, ...why, expected: position })))
    return giveUp(dependencies, stride, why)
  // A log line before `setAside` could name a submission that another writer applies. This line is
  // missing if the answer of Postgres gets lost.
  log('error', 'submission_dead', { workspaceId, submissionId, operation, attempts, fault: reason })
  onSettled(submission, 'dead', { attempts, isDeep: true })
  dead.set(submissionId, { state: 'dead', fault: reason })
  return resultAt(number, [])
}

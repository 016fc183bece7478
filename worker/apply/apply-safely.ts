import { findBlockers } from '../../db/connection/blockers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { createStrideStore, type StrideStore } from '../../db/apply/stride-store.ts'
import { setAside } from '../../db/submissions/dead.ts'
import { readPosition } from '../../db/submissions/position.ts'
import { describeFault, isPermanentFault, isUnavailable } from '../../runtime/fault.ts'
import type { Logger } from '../../runtime/logger.ts'
import { applyStride, type StrideStores } from './apply-stride.ts'
import type { OnSettled } from './follow-up.ts'
import { joinOutcomes, nothingDone, type Stride, type StrideOutcome } from './stride-outcome.ts'

/**
 * The most attempts at a single submission whose fault may pass, and the pause between them. Its
 * workspace waits meanwhile. Maintenance replays the submission later.
 */
const MOST_ATTEMPTS = 2
const PAUSE_MS = 250

/** By workspace: the number of a failing submission, and how often it failed in this process. */
type Attempts = Map<string, { number: number; count: number }>

export type FaultDependencies = Omit<StrideStores, 'store'> & {
  /** For strides of several workspaces. */
  sharedStore: StrideStore
  log: Logger
  answerWithinMs: number
  onSettled: OnSettled
  attempts: Attempts
}

/**
 * Applies strides of several workspaces side by side. They share statements. A stride that fails goes
 * on in the backlog.
 *
 * @throws when Postgres is away
 */
export const applyTogether = async (
  dependencies: FaultDependencies,
  strides: readonly Stride[],
): Promise<StrideOutcome[]> => {
  const stores = { ...dependencies, store: dependencies.sharedStore }
  const applyOne = async (stride: Stride): Promise<StrideOutcome> => {
    try {
      return await applyStride(stores, stride, { isShared: true })
    } catch (error) {
      if (isUnavailable(error)) throw error
      return { ...nothingDone(), end: 'backlog' }
    }
  }
  return watch(dependencies, strides, () => Promise.all(strides.map(applyOne)))
}

/** Logs the programs that keep the work waiting. */
const watch = <T>(dependencies: FaultDependencies, strides: readonly Stride[], work: () => Promise<T>): Promise<T> =>
  logBlockers({ ...dependencies, workspaceIds: strides.map(({ workspaceId }) => workspaceId) }, work)

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
export const applyOrHalve = async (dependencies: FaultDependencies, stride: Stride): Promise<StrideOutcome> => {
  const { submissions } = stride
  const stores = { ...dependencies, store: createStrideStore(dependencies.sql) }
  try {
    return await watch(dependencies, [stride], () => applyStride(stores, stride, { isShared: false }))
  } catch (error) {
    if (isUnavailable(error)) throw error
    if (submissions.length === 1) return postponeOrGiveUp(dependencies, stride, error)
  }
  const middle = Math.ceil(submissions.length / 2)
  const first = await applyOrHalve(dependencies, { ...stride, submissions: submissions.slice(0, middle) })
  // A stride ends early if its submission is postponed, if it moves or removes many records, if its
  // workspace was deleted, or if Postgres has lost its last commits.
  const after = submissions[middle - 1]!.number
  if (first.end !== 'applied' || first.position < after) return first
  return joinOutcomes(
    first,
    await applyOrHalve(dependencies, { ...stride, after, submissions: submissions.slice(middle) }),
  )
}

const postponeOrGiveUp = async (
  dependencies: FaultDependencies,
  stride: Stride,
  error: unknown,
): Promise<StrideOutcome> => {
  const { workspaceId, after, submissions } = stride
  const { number, submissionId } = submissions[0]!
  const former: { number: number; count: number } | undefined = dependencies.attempts.get(workspaceId)
  const count = former?.number === number ? former.count + 1 : 1
  const reason = describeFault(error)
  if (!isPermanentFault(error) && count < MOST_ATTEMPTS) {
    dependencies.attempts.set(workspaceId, { number, count })
    dependencies.log('error', 'apply_failed', { workspaceId, submissionId, attempts: count, fault: reason })
    return { ...nothingDone(), end: 'postponed', position: after, ms: PAUSE_MS }
  }
  return giveUp(dependencies, stride, { attempts: count, reason, mayPass: !isPermanentFault(error) })
}

/** Sets the only submission of a stride aside as dead, unless another writer has passed it. */
export const giveUp = async (
  dependencies: FaultDependencies,
  stride: Stride,
  why: { attempts: number; reason: string; mayPass?: boolean },
): Promise<StrideOutcome> => {
  const { sql, hashKey, log, onSettled } = dependencies
  const { workspaceId, after, submissions } = stride
  const { attempts, reason } = why
  const submission = submissions[0]!
  const { number, submissionId, operation } = submission
  const done = nothingDone()
  const position = await readPosition(sql, workspaceId)
  if (position === undefined) return { ...done, end: 'deleted' }
  if (position < after) return { ...done, end: 'behind', position }
  if (position >= number) return { ...done, end: 'applied', position, found: [submission] }
  // Another writer has moved the position since `readPosition`.
  if (!(await setAside(sql, hashKey, { submission, ...why, expected: position })))
    return giveUp(dependencies, stride, why)
  // A log line before `setAside` could name a submission that another writer applies. This line is
  // missing if the answer of Postgres gets lost.
  log('error', 'submission_dead', { workspaceId, submissionId, operation, attempts, fault: reason })
  onSettled(submission, 'dead', { attempts, isDeep: true })
  done.dead.set(submissionId, { state: 'dead', fault: reason })
  return { ...done, end: 'applied', position: number }
}

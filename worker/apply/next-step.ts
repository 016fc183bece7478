import type { Realm } from '../../contract/identity/keys.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'
import { Fold, type FoldableSubmission } from '../../fold/fold.ts'
import { Missing, type MissingState } from '../../fold/profile.ts'
import type { StoredState } from '../../fold/stored.ts'
import { addMissing, isTooLarge, type Segment, segmentOf } from './segment.ts'

/**
 * What is left of a stride: its submissions above the position, and the segment that is loaded.
 * `known`: the position before the load.
 */
export type Left = { known: number; due: readonly Submission[]; segment: Segment }

/** What the worker does next with a stride. */
export type Step =
  /** All submissions are applied, or Postgres has lost its last commits. */
  | { do: 'end'; end: 'applied' | 'behind'; position: number }
  /** The workspace is deleted. */
  | { do: 'end'; end: 'deleted' }
  /** Load other keys, or the keys of other submissions. */
  | { do: 'load'; segment: Segment }
  /** Move records of absorbed contacts and accounts. */
  | { do: 'move' }
  /** Remove records of decided purges. */
  | { do: 'remove' }
  | { do: 'decide'; purge: SubmissionOf<'purge_contact'> }
  /**
   * Save a fold, which moves the position to `end`. `skipped`: submissions that were appended
   * again, with a receipt that is settled or decided, or with an earlier copy in the segment.
   */
  | { do: 'save'; fold: Fold; end: number; skipped: readonly Submission[] }

/** The next step after a load. `due`: the submissions above the loaded position. */
export const nextStep = ({ known, due, segment }: Left, stored: StoredState): Step => {
  const { position } = stored
  if (position === undefined) return { do: 'end', end: 'deleted' }
  if (position < known) return { do: 'end', end: 'behind', position }
  if (stored.hasMoves) return { do: 'move' }
  const [first] = due
  if (first === undefined) return { do: 'end', end: 'applied', position }
  if (stored.isRemoving) return { do: 'remove' }
  const submissions = segment.submissions.filter(({ number }) => number > position)
  // Another writer has applied the segment, or the next submission is not in it.
  if (submissions[0] !== first) return { do: 'load', segment: nextSegment(segment.realm, due, stored.hadPurges) }
  if (first.operation !== 'purge_contact') return foldSegment({ ...segment, submissions }, stored)
  const isDecided = stored.rows.some(({ kind, key }) => kind === 'receipt' && key === first.submissionId)
  if (!isDecided) return { do: 'decide', purge: first }
  return { do: 'save', fold: new Fold(segment.realm), end: first.number, skipped: [first] }
}

/** The next purge, or all submissions up to the next purge. */
export const nextSegment = (realm: Realm, due: readonly Submission[], hadPurges: boolean): Segment => {
  const end = due.findIndex(({ operation }) => operation === 'purge_contact')
  return segmentOf(realm, end < 0 ? due : due.slice(0, Math.max(1, end)), hadPurges)
}

/**
 * The next load after a save that would give a contact or account too many metadata keys. The fold
 * needs all of its metadata to choose the keys that stay.
 */
export const loadWhole = (segment: Segment, overfull: readonly MissingState[]): Segment => {
  const { realm, submissions, keys } = segment
  if (overfull.some((missing) => isTooLarge(segment, missing)))
    return segmentOf(realm, submissions.slice(0, Math.ceil(submissions.length / 2)), keys.epoch.size > 0)
  for (const missing of overfull) addMissing(segment, missing)
  return segment
}

const foldSegment = (segment: Segment, stored: StoredState): Step => {
  const { realm, submissions, keys } = segment
  const fold = new Fold(realm)
  fold.learn(stored, keys)
  // After a failover, a segment may have a submission twice. The second copy is skipped.
  const seen = settledAmong(stored)
  const skipped: Submission[] = []
  const missing: MissingState[] = []
  for (const [at, submission] of submissions.entries()) {
    if (seen.has(submission.submissionId)) {
      skipped.push(submission)
      continue
    }
    seen.add(submission.submissionId)
    const state = missingFor(fold, submission as FoldableSubmission)
    if (state === undefined) continue
    if (isTooLarge(segment, state)) return { do: 'load', segment: cutBefore(segment, at, state) }
    // The fold is useless after this, but finds out what else is missing.
    missing.push(state)
  }
  if (missing.length === 0) return { do: 'save', fold, end: submissions.at(-1)!.number, skipped }
  for (const state of missing) addMissing(segment, state)
  return { do: 'load', segment }
}

/** The missing state, if the fold misses any. */
const missingFor = (fold: Fold, submission: FoldableSubmission): MissingState | undefined => {
  try {
    fold.takeIn(submission)
    return undefined
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    return error.state
  }
}

/**
 * Cuts a segment before a submission that needs a large contact or account. That submission is
 * loaded alone, with the metadata in any size.
 */
const cutBefore = ({ realm, submissions, keys }: Segment, at: number, large: MissingState): Segment => {
  const cut = segmentOf(realm, submissions.slice(0, Math.max(1, at)), keys.epoch.size > 0)
  if (at === 0) addMissing(cut, large)
  return cut
}

/**
 * The ids of receipts that are not queued: of settled submissions, or of replays that a purge
 * ended.
 */
const settledAmong = ({ rows }: StoredState): Set<string> =>
  new Set(rows.flatMap((row) => (row.kind === 'receipt' && !row.isQueued ? [row.key] : [])))

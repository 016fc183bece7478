import type { Realm } from '../../contract/identity/keys.ts'
import { isRemoval, type Removal, type Submission } from '../../contract/submission.ts'
import { Fold, type FoldableSubmission } from '../../fold/fold.ts'
import type { Changes } from '../../fold/changes.ts'
import { Missing, type MissingState } from '../../fold/profile.ts'
import type { StoredState } from '../../fold/stored.ts'
import { addMissing, nextPart, type Segment, segmentOf } from './segment.ts'

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
  | { do: 'decide'; purge: Removal }
  /**
   * Save metadata of some contacts and accounts of a submission that changes too much of it at once,
   * and go on with the segment. The position stays. The save may be repeated: what it has set or
   * filled, it sets or fills no more.
   */
  | { do: 'part'; changes: Changes; segment: Segment }
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
  if (!isRemoval(first)) return foldSegment({ ...segment, submissions }, stored)
  const isDecided = stored.rows.some(({ kind, key }) => kind === 'receipt' && key === first.submissionId)
  if (!isDecided) return { do: 'decide', purge: first }
  return { do: 'save', fold: new Fold(segment.realm), end: first.number, skipped: [first] }
}

/** The next removal, or all submissions up to the next removal. */
export const nextSegment = (realm: Realm, due: readonly Submission[], hadPurges: boolean): Segment => {
  const end = due.findIndex(isRemoval)
  return segmentOf(realm, end < 0 ? due : due.slice(0, Math.max(1, end)), hadPurges)
}

/**
 * The next load after a save that would give a contact or account too many metadata keys. The fold
 * needs all of its metadata to choose the keys that stay.
 */
export const loadWhole = (segment: Segment, overfull: readonly Omit<ProfileState, 'metadata'>[]): Segment => {
  for (const { kind, id } of overfull) addMissing(segment, { kind, id, metadata: true })
  return segment
}

type ProfileState = Extract<MissingState, { id: string }>

const foldSegment = (segment: Segment, stored: StoredState): Step => {
  const { realm, submissions, keys, saved } = segment
  const fold = new Fold(realm, saved)
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
    missing.push(...missingFor(fold, submission as FoldableSubmission))
    if (submissions.length > 1 && fold.hasTooMuch())
      return { do: 'load', segment: segmentOf(realm, submissions.slice(0, Math.max(1, at)), keys.epoch.size > 0) }
  }
  missing.push(...fold.lacking())
  if (missing.length === 0) return { do: 'save', fold, end: submissions.at(-1)!.number, skipped }
  // Before that, the fold can be wrong about more than the metadata that it lacks.
  if (fold.hasTooMuch() && missing.every((state) => 'metadata' in state && state.metadata))
    return saveOrLoadPart(segment, fold)
  for (const state of missing) addMissing(segment, state)
  return { do: 'load', segment }
}

const saveOrLoadPart = (segment: Segment, fold: Fold): Step => {
  const part = fold.part()
  const next = nextPart(segment, part)
  return part.saved.length === 0 ? { do: 'load', segment: next } : { do: 'part', changes: part.changes, segment: next }
}

/** The missing state, if the fold cannot apply the submission without it. */
const missingFor = (fold: Fold, submission: FoldableSubmission): MissingState[] => {
  try {
    fold.takeIn(submission)
    return []
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    return [error.state]
  }
}

/**
 * The ids of receipts that are not queued: of settled submissions, or of replays that a purge
 * ended.
 */
const settledAmong = ({ rows }: StoredState): Set<string> =>
  new Set(rows.flatMap((row) => (row.kind === 'receipt' && !row.isQueued ? [row.key] : [])))

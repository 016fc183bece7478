import { conversationId } from '../../contract/conversation-record.ts'
import type { HashKey } from '../../contract/identity/keys.ts'
import { feedbackId } from '../../contract/feedback-record.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'
import { isQueued, KEY, type LoadedState, WHOLE, WHOLE_OF_ANY_SIZE } from '../../db/apply/load.ts'
import { moveRecords } from '../../db/apply/save.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { removeBefore } from '../../db/purges/removal.ts'
import { Fold, type FoldableSubmission } from '../fold/fold.ts'
import { Missing, type MissingState } from '../fold/profile.ts'
import { decidePurge } from '../../db/purges/decide-purge.ts'
import { StrideKeys } from './stride-keys.ts'

/** Submissions of one workspace, ascending, with numbers above `after`. */
export type Stride = { workspaceId: string; after: number; submissions: readonly Submission[] }
type AppliedSubmission = { submission: Submission; state: 'applied' | 'superseded' }
export type StrideResult =
  | { outcome: 'deleted' }
  /** Postgres has lost its last commits: the log has to be read again from this position. */
  | { outcome: 'behind'; position: number }
  | {
      outcome: 'applied'
      position: number
      /** The submissions that this call applied, with purges that matched nothing. */
      applied: AppliedSubmission[]
      /** Submissions at or below the loaded position, and submissions that a segment skipped. */
      found: Submission[]
      /** Purges that matched something: contacts, waiting records or dead submissions to remove. */
      decided: SubmissionOf<'purge_contact'>[]
    }

export type ApplyStores = {
  sql: Sql
  hashKey: HashKey
  /** Workspaces with a known purge. The first load of their strides includes epochs. */
  purgedWorkspaces?: Set<string>
}

/**
 * A folded segment, and the number of its last submission. `skipped`: submissions that were
 * appended again, with a receipt that is settled or decided, or with an earlier copy in the
 * segment.
 */
export type FoldedSegment = { fold: Fold; end: number; skipped: readonly Submission[] }

/**
 * The progress of one workspace's stride. The stride is cut at purges, since each purge is decided
 * alone. This class decides purges, moves the records of merges, and removes records of pending
 * purges. Its caller loads and saves.
 */
export class StrideWork {
  readonly stride: Stride
  readonly #dependencies: ApplyStores
  /** Another writer held the workspace, so the next save waits for that writer. */
  wasBusy = false
  position: number
  result: StrideResult | undefined
  keys: StrideKeys
  /** The submissions to apply, ascending. */
  #due: readonly Submission[]
  readonly #applied = new Map<number, AppliedSubmission>()
  readonly #found: Submission[] = []
  readonly #decided: SubmissionOf<'purge_contact'>[] = []
  /** The position at which pending purges have removed the records that the segment names. */
  #removedAt: number | undefined

  constructor(dependencies: ApplyStores, stride: Stride) {
    this.stride = stride
    this.#dependencies = dependencies
    this.position = stride.after
    this.#due = stride.submissions
    this.keys = this.#keysOfSegment()
  }

  /**
   * Takes the loaded rows and goes one step further. Returns the segment to save. Returns undefined
   * if the stride has its `result`, or if its keys have to be loaded again.
   */
  async takeStep(loaded: LoadedState): Promise<FoldedSegment | undefined> {
    const { position } = loaded
    if (position === undefined) return this.#end({ outcome: 'deleted' })
    if (position < this.stride.after) return this.#end({ outcome: 'behind', position })
    this.#moveTo(position)
    if (this.#due.length === 0) return this.#endApplied()
    if (loaded.hadPurges) this.#dependencies.purgedWorkspaces?.add(this.stride.workspaceId)
    if (loaded.hasMoves) {
      await moveRecords(this.#dependencies.sql, this.stride.workspaceId)
      return undefined
    }
    const [first] = this.#due
    if (first?.operation === 'purge_contact') return this.#decide(first, loaded)
    const segment = this.keys.submissions.filter(({ number }) => number > position)
    if (segment.length === 0) {
      this.keys = this.#keysOfSegment()
      return undefined
    }
    if (loaded.isRemoving && this.#removedAt !== position) {
      await this.#removeBefore(segment)
      return undefined
    }
    return this.#fold(loaded, segment as FoldableSubmission[])
  }

  /** Notes that the fold of a segment is saved. */
  noteSaved({ fold, end, skipped }: FoldedSegment): void {
    for (const { submission, state } of fold.folded) this.#applied.set(submission.number, { submission, state })
    this.#found.push(...skipped)
    this.#goOn(end)
  }

  /**
   * Asks for the whole of a contact or account that would get too many metadata keys. The whole of
   * a large one is loaded only for a segment of one submission. A longer segment is halved first.
   */
  noteTooMany(state: MissingState): void {
    const { submissions } = this.keys
    if (!this.#isLarge(state)) this.keys.addMissing(state)
    else if (submissions.length === 1) this.keys.addMissing(state, WHOLE_OF_ANY_SIZE)
    else this.keys = this.#keysOf(submissions.slice(0, Math.ceil(submissions.length / 2)))
  }

  #end(result: StrideResult): undefined {
    this.result = result
  }

  #endApplied(): undefined {
    const applied = [...this.#applied.values()]
    this.#end({ outcome: 'applied', position: this.position, applied, found: this.#found, decided: this.#decided })
  }

  /** Takes the loaded position. The submissions at or below this position are found. */
  #moveTo(position: number): void {
    this.position = position
    for (const submission of this.#due) if (submission.number <= position) this.#found.push(submission)
    this.#due = this.#due.filter(({ number }) => number > position)
  }

  /** This call is done with all submissions up to the position. */
  #goOn(position: number): void {
    this.position = position
    this.wasBusy = false
    this.#due = this.#due.filter(({ number }) => number > position)
    if (this.#due.length === 0) this.#endApplied()
    else this.keys = this.#keysOfSegment()
  }

  async #decide(purge: SubmissionOf<'purge_contact'>, loaded: LoadedState): Promise<FoldedSegment | undefined> {
    // After a failover, workers may have appended this purge twice. Its receipt tells whether it is
    // decided. The keys of an earlier segment lack this receipt.
    if (purge.originalNumber !== undefined && this.keys.submissions[0] !== purge) {
      this.keys = this.#keysOfSegment()
      return undefined
    }
    // An empty fold: its save only moves the position.
    if (loaded.rows.some(({ kind, key }) => kind === 'receipt' && key === purge.submissionId))
      return { fold: new Fold(this.keys.realm), end: purge.number, skipped: [purge] }
    const outcome = await decidePurge(this.#dependencies, purge, this.position)
    if (outcome === 'busy') return undefined
    if (outcome === 'decided') this.#decided.push(purge)
    else this.#applied.set(purge.number, { submission: purge, state: 'applied' })
    this.#dependencies.purgedWorkspaces?.add(this.stride.workspaceId)
    this.#goOn(purge.number)
    return undefined
  }

  /** A pending purge must remove its records before a later submission names them. */
  async #removeBefore(segment: readonly Submission[]): Promise<void> {
    const realm = { hashKey: this.#dependencies.hashKey, workspaceId: this.stride.workspaceId }
    const feedbackIds = new Set<string>()
    const conversationIds = new Set<string>()
    for (const { operation, body, submissionId } of segment) {
      if (operation === 'create_feedback') feedbackIds.add(feedbackId({ ...realm, submissionId }, body))
      if (operation === 'submit_conversation') conversationIds.add(conversationId(realm, body))
    }
    await removeBefore(this.#dependencies.sql, realm.workspaceId, { feedbackIds, conversationIds })
    this.#removedAt = this.position
  }

  #fold(loaded: LoadedState, segment: readonly FoldableSubmission[]): FoldedSegment | undefined {
    const fold = new Fold(this.keys.realm)
    fold.learn(loaded, this.keys)
    // After a failover, a segment may have a submission twice. The second copy is skipped.
    const seen = settledAmong(loaded)
    const skipped: Submission[] = []
    const missing: MissingState[] = []
    for (const [at, submission] of segment.entries()) {
      if (seen.has(submission.submissionId)) {
        skipped.push(submission)
        continue
      }
      seen.add(submission.submissionId)
      const state = tryToTakeIn(fold, submission)
      if (state === undefined) continue
      if (this.#isLarge(state)) {
        this.#cutTo(segment.slice(0, Math.max(1, at)), at === 0 ? state : undefined)
        return undefined
      }
      // The fold is useless after this, but finds out what else is missing.
      missing.push(state)
    }
    if (missing.length === 0) return { fold, end: segment.at(-1)!.number, skipped }
    for (const state of missing) this.keys.addMissing(state)
    return undefined
  }

  /** Whether the load left out a contact or account for its size, though asked for the whole. */
  #isLarge(state: MissingState): boolean {
    return (
      (state.kind === 'contact' || state.kind === 'account') && (this.keys[state.kind].get(state.id) ?? KEY) >= WHOLE
    )
  }

  /** Cuts the segment, so that a submission with a large contact or account is applied alone. */
  #cutTo(segment: readonly Submission[], large: MissingState | undefined): void {
    this.keys = this.#keysOf(segment)
    if (large !== undefined) this.keys.addMissing(large, WHOLE_OF_ANY_SIZE)
  }

  /** The keys of the next segment: one purge, or all submissions up to the next purge. */
  #keysOfSegment(): StrideKeys {
    const end = this.#due.findIndex(({ operation }) => operation === 'purge_contact')
    return this.#keysOf(end < 0 ? this.#due : this.#due.slice(0, Math.max(1, end)))
  }

  #keysOf(segment: readonly Submission[]): StrideKeys {
    const { hashKey, purgedWorkspaces } = this.#dependencies
    const { workspaceId } = this.stride
    return new StrideKeys({ hashKey, workspaceId }, segment, purgedWorkspaces?.has(workspaceId) ?? false)
  }
}

/**
 * The ids of receipts that are not queued: of settled submissions, or of replays that a purge
 * ended.
 */
const settledAmong = ({ rows }: LoadedState): Set<string> =>
  new Set(rows.flatMap((row) => (row.kind === 'receipt' && !isQueued(row) ? [row.key] : [])))

/** The missing state, if the fold misses any. */
const tryToTakeIn = (fold: Fold, submission: FoldableSubmission): MissingState | undefined => {
  try {
    fold.takeIn(submission)
    return undefined
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    return error.state
  }
}

import type { Submission } from '../../contract/submission.ts'
import { load } from '../../db/load.ts'
import { noChanges, save } from '../../db/save.ts'
import { Fold, type FoldableSubmission } from '../fold/fold.ts'
import { Missing } from '../fold/missing.ts'
import { countStates } from './apply-strides.ts'
import { StrideKeys } from './keys.ts'
import type { ApplyDependencies, Stride, StrideResult } from './stride.ts'

/**
 * Beyond that many contacts, accounts and conversations the session begins again with an empty
 * memory.
 */
const MOST_PROFILES = 50_000

type Applied = Extract<StrideResult, { outcome: 'applied' }>
export type SessionCallbacks = {
  /** Notes the position that is saved, and reads behind `after`. Undefined ends the session. */
  readNext: (position: number | undefined, after: number) => Promise<Stride | undefined>
  /** Called after each save, before its position is handed to `readNext`. */
  onApplied: (result: Applied, stride: Stride['submissions']) => Promise<void>
}

/**
 * Applies the log of one busy workspace: while Postgres saves a stride, the next one is read,
 * loaded and folded. What is loaded may be older than what was folded before, so the fold keeps
 * what it knows.
 *
 * Ends when nothing is left to read, and when anything special comes: a purge, a replay, records to
 * be moved or removed, another writer, or a fold that has to know more. applyStrides then goes on
 * from the position that `onApplied` was told last.
 */
export const applyBusy = async (
  dependencies: ApplyDependencies,
  first: Stride,
  callbacks: SessionCallbacks,
): Promise<void> => {
  const session = new Session(dependencies, first, callbacks)
  let stride: Stride | undefined = first
  while (stride !== undefined && (await session.take(stride))) stride = await session.readNext()
  await session.settle()
}

/** A save under way. It comes to nothing if the stride has to be applied in another way. */
type Saving = { submissions: Stride['submissions']; outcome: Promise<{ result: Applied; isLast: boolean } | undefined> }

class Session {
  readonly #dependencies: ApplyDependencies
  readonly #callbacks: SessionCallbacks
  readonly #workspaceId: string
  #fold: Fold | undefined
  /** The end of what was folded, and of what is known to be saved. */
  #after: number
  #saved: number | undefined
  #saving: Saving | undefined

  constructor(dependencies: ApplyDependencies, { workspaceId, after }: Stride, callbacks: SessionCallbacks) {
    this.#dependencies = dependencies
    this.#callbacks = callbacks
    this.#workspaceId = workspaceId
    this.#after = after
  }

  readNext(): Promise<Stride | undefined> {
    return this.#callbacks.readNext(this.#saved, this.#after)
  }

  /**
   * Folds a stride, waits for the save of the one before, and begins to save this one. False when
   * the session ends.
   */
  async take({ submissions }: Stride): Promise<boolean> {
    const due = submissions.filter(({ number }) => number > this.#after)
    const foldable = due.filter(isFoldable)
    const isPlain = due.length > 0 && foldable.length === due.length
    const fold = isPlain ? await this.#foldStride(foldable) : undefined
    if (!(await this.settle()) || fold === undefined) return false
    this.#startSaving(fold, foldable)
    fold.settle()
    if (fold.size <= MOST_PROFILES) return true
    this.#fold = undefined
    return this.settle()
  }

  /** Waits for the save under way. False when the session ends with it. */
  async settle(): Promise<boolean> {
    if (this.#saving === undefined) return true
    const { submissions, outcome } = this.#saving
    this.#saving = undefined
    const saved = await outcome
    if (saved === undefined) return false
    await this.#callbacks.onApplied(saved.result, submissions)
    this.#saved = saved.result.position
    return !saved.isLast
  }

  /** Undefined where something special is stored, or more has to be known: the session ends. */
  async #foldStride(due: readonly FoldableSubmission[]): Promise<Fold | undefined> {
    const { sql, hashKey, purgedWorkspaces } = this.#dependencies
    const realm = { hashKey, workspaceId: this.#workspaceId }
    const keys = new StrideKeys(realm, due, purgedWorkspaces?.has(this.#workspaceId) ?? false)
    const [loaded] = await load(sql, [keys])
    if (loaded?.position === undefined || loaded.hasMoves || loaded.isRemoving) return undefined
    const fold = this.#fold ?? new Fold(realm)
    fold.learn(loaded, keys)
    try {
      for (const submission of due) fold.takeIn(submission)
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      return undefined
    }
    this.#fold = fold
    return fold
  }

  #startSaving(fold: Fold, submissions: readonly FoldableSubmission[]): void {
    const changes = noChanges()
    fold.writeTo(changes, 1)
    const position = submissions.at(-1)!.number
    const progress = { w: 1, expected: this.#after, position, ...countStates(fold.folded) }
    const applied = fold.folded.map(({ submission, state }) => ({ submission, state }))
    const workspaceIds = [this.#workspaceId]
    const request = { workspaceIds, progress: [progress], changes, waits: true }
    const outcome = save(this.#dependencies.sql, request).then((saved) => {
      if (saved.outcome !== 'saved') return undefined
      const result: Applied = { outcome: 'applied', position, applied, found: [], decided: [] }
      return { result, isLast: saved.moves.length > 0 }
    })
    // A fault is thrown where the outcome is waited for.
    outcome.catch(() => {})
    this.#saving = { submissions, outcome }
    this.#after = position
  }
}

const isFoldable = (submission: Submission): submission is FoldableSubmission =>
  submission.operation !== 'purge_contact' && submission.originalNumber === undefined

import type { Realm } from '../../contract/identity/own-id.ts'
import type { Submission } from '../../contract/submission.ts'
import { load } from '../../db/apply/load.ts'
import { noChanges, save } from '../../db/apply/save.ts'
import { Fold, type FoldableSubmission } from '../fold/fold.ts'
import { Missing } from '../fold/missing.ts'
import { countStates } from './apply-strides.ts'
import type { AppliedStride } from './follow-up.ts'
import { StrideKeys } from './keys.ts'
import type { ApplyStores, Stride } from './stride.ts'

/** With more contacts, accounts and conversations, the session starts again with an empty fold. */
const MOST_PROFILES = 50_000

/** A saved stride and its result. */
type Saved = { submissions: FoldableSubmission[]; result: AppliedStride }

/**
 * Applies the log of one busy workspace. While Postgres saves a stride, the worker reads, loads and
 * folds the next one. Loaded rows may be older than the folded state, so the fold keeps its own.
 * Yields each stride once it is saved. `readNext` reads behind `after`.
 *
 * The session ends at the end of the log. It also ends at a purge, a replay, records to move or
 * remove, another writer, or a fold that needs more. `applyStrides` then goes on from the position
 * of the last yielded stride.
 */
export const applyBusy = async function* (
  dependencies: ApplyStores,
  first: Stride,
  readNext: (after: number) => Promise<Stride | undefined>,
): AsyncGenerator<Saved> {
  const session = new Session(dependencies, first)
  for (let stride: Stride | undefined = first; stride !== undefined; stride = await readNext(session.after)) {
    if (session.isFull()) yield* session.forget()
    const folded = await session.fold(stride)
    yield* session.awaitSave()
    if (folded === undefined || session.isOver) return
    session.startSaving(folded)
  }
  yield* session.awaitSave()
}

class Session {
  readonly #dependencies: ApplyStores
  readonly #realm: Realm
  #fold: Fold
  /** The save under way. Undefined if the stride has to be applied in another way. */
  #saving: Promise<(Saved & { isLast: boolean }) | undefined> | undefined
  /** The number of the last folded submission. */
  after: number
  /** A save failed, or left records to move. */
  isOver = false

  constructor(dependencies: ApplyStores, { workspaceId, after }: Stride) {
    this.#dependencies = dependencies
    this.#realm = { hashKey: dependencies.hashKey, workspaceId }
    this.#fold = new Fold(this.#realm)
    this.after = after
  }

  isFull(): boolean {
    return this.#fold.size > MOST_PROFILES
  }

  /**
   * Starts with an empty fold. It has to load the rows of the save under way, so that save comes
   * first.
   */
  async *forget(): AsyncGenerator<Saved> {
    yield* this.awaitSave()
    this.#fold = new Fold(this.#realm)
  }

  /**
   * Returns the folded submissions. Undefined ends the session: the stride is not for a session, or
   * the fold needs more.
   */
  async fold({ submissions }: Stride): Promise<FoldableSubmission[] | undefined> {
    const { sql, purgedWorkspaces } = this.#dependencies
    const due = submissions.filter(({ number }) => number > this.after)
    if (due.length === 0 || !due.every(isFoldable)) return undefined
    const keys = new StrideKeys(this.#realm, due, purgedWorkspaces?.has(this.#realm.workspaceId) ?? false)
    const [loaded] = await load(sql, [keys])
    if (loaded?.position === undefined || loaded.hasMoves || loaded.isRemoving) return undefined
    this.#fold.learn(loaded, keys)
    try {
      for (const submission of due) this.#fold.takeIn(submission)
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      return undefined
    }
    return due
  }

  /** Waits for the save under way. */
  async *awaitSave(): AsyncGenerator<Saved> {
    if (this.#saving === undefined) return
    const saved = await this.#saving
    this.#saving = undefined
    this.isOver = saved?.isLast !== false
    if (saved !== undefined) yield saved
  }

  startSaving(submissions: FoldableSubmission[]): void {
    const changes = noChanges()
    this.#fold.writeTo(changes, 1)
    const position = submissions.at(-1)!.number
    const applied = [...this.#fold.folded]
    const progress = { w: 1, expected: this.after, position, ...countStates(applied) }
    const request = { workspaceIds: [this.#realm.workspaceId], progress: [progress], changes, waits: true }
    this.#saving = save(this.#dependencies.sql, request).then((saved) => {
      if (saved.outcome !== 'saved') return undefined
      const result: AppliedStride = { outcome: 'applied', position, applied, found: [], decided: [] }
      return { submissions, result, isLast: saved.moves.length > 0 }
    })
    // The fault is thrown where the outcome is awaited.
    this.#saving.catch(() => {})
    this.#fold.beginNextStride()
    this.after = position
  }
}

const isFoldable = (submission: Submission): submission is FoldableSubmission =>
  submission.operation !== 'purge_contact' && submission.originalNumber === undefined

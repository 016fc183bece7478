import type { QueuedFactsByKey } from './queued-facts.ts'
import type { AnswerReferences } from './reference.ts'

export type Question = {
  workspaceId: string
  /** The acceptance number of the submission that asks. What was accepted later does not count. */
  number: number
  source: string
  references: AnswerReferences
  /** What queued submissions said about the keys of `keysToLookUp` when the number was given. */
  queued: QueuedFactsByKey
  /** Whether any purge of the workspace was undecided then. */
  purgesQueued: boolean
}
export type Meaning = { contact: string | null; project: string | null }
export type ResolveReferences = (question: Question) => Promise<Meaning>

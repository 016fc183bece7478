import type { QueuedFactsByKey } from './admission.ts'
import type { References } from './contract/reference.ts'

export type Question = {
  workspaceId: string
  /** Acceptance number of whoever asks: what came later does not count. */
  number: number
  source: string
  references: References
  /** What was queued about the keys of `keysToLookUp` when the number was given. */
  queued: QueuedFactsByKey
}
export type Meaning = { contact: string | null; project: string | null }
export type ResolveReferences = (question: Question) => Promise<Meaning>

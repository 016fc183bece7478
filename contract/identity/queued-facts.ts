import type { Saying } from './sayings.ts'

/**
 * What queued submissions say about a key: the number from which an own id exists and what it is of (`Sayings.newIds`), and their
 * sayings, by ascending acceptance number.
 */
export type QueuedFacts = {
  existsFrom: number | null
  of: string | null
  said: { number: number; sayings: readonly Saying[] }[]
}
export type QueuedFactsByKey = ReadonlyMap<string, QueuedFacts>

/** About a key of which very many different things are said, those said first and last are told; with `isWhole`, all. */
export type LookUpQueued = (
  workspaceId: string,
  keyIds: readonly string[],
  how?: { isWhole?: boolean },
) => Promise<QueuedFactsByKey>

import { idOfEpoch } from '../../contract/identity/own-id.ts'
import type { Loaded, WantedKeys } from '../../db/apply/load.ts'

/** State that the fold needs and that was not loaded. */
export type MissingState =
  | { kind: 'contact' | 'account'; id: string }
  /** The epochs of all keys of the stride. */
  | { kind: 'epochs' }
  /** The numbers and versions of the stored messages of a conversation. */
  | { kind: 'messages'; conversationId: string }

/**
 * Thrown when the fold needs state that was not loaded. That is rare, and always loading it would
 * cost more. The worker loads it and folds again.
 */
export class Missing extends Error {
  readonly state: MissingState
  override readonly name = 'Missing'
  constructor(state: MissingState) {
    super(`The fold needs state that was not loaded: ${state.kind}.`)
    this.state = state
  }
}

/** The number of purges of each key. Without a purge in the workspace, no key has an epoch. */
export class Epochs {
  readonly #epochs = new Map<string, number>()
  #hadPurges = false

  learn({ hadPurges, rows }: Loaded, { epoch }: WantedKeys): void {
    this.#hadPurges ||= hadPurges
    for (const key of epoch.keys()) if (!this.#epochs.has(key)) this.#epochs.set(key, 0)
    for (const row of rows) if (row.kind === 'epoch') this.#epochs.set(row.key, row.number)
  }

  /** The current own id of a key. Each purge of the key gives it another one. */
  idOf(key: string): string {
    if (!this.#hadPurges) return key
    const epoch = this.#epochs.get(key)
    if (epoch === undefined) throw new Missing({ kind: 'epochs' })
    return idOfEpoch(key, epoch)
  }
}

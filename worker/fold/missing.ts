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

/** What the fold has to know and was not loaded. */
export type MissingState =
  | { kind: 'contact' | 'account'; id: string }
  /** How often the keys that the stride names were purged. */
  | { kind: 'epochs' }
  /** Which messages of a conversation are newer than those of the stride. */
  | { kind: 'messages'; conversationId: string }

/**
 * Thrown where the fold needs what was not loaded: that is rare, and to load it always costs more.
 * It is loaded, and the fold begins again.
 */
export class Missing extends Error {
  readonly state: MissingState
  override readonly name = 'Missing'
  constructor(state: MissingState) {
    super(`The fold does not know ${state.kind}`)
    this.state = state
  }
}

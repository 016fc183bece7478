/** A database server that this program has started and answers for. */
export type EmbeddedServer = {
  /** Connection string with user and password, as psql and redis-cli take it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Exit code once the server has ended; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** Ends the server cleanly, by force when it does not obey; may be called again. */
  readonly stop: () => Promise<void>
}

/** The import cannot go on, or not begin; the message says what to do. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
}

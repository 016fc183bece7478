/** The import cannot begin or continue; the message says what to do. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
}

import { NO_ANSWER } from './within-time.ts'

/**
 * SQLSTATE classes and codes, and codes of the driver and the system, grouped by whether a retry
 * helps.
 */
const PERMANENT_CLASSES = ['22', '42']
const PERMANENT_CODES = [
  '23502', // not_null_violation
  '23514', // check_violation
  '54000', // program_limit_exceeded
]
const UNAVAILABLE_CLASSES = ['08', '53']
const UNAVAILABLE_CODES = [
  '25006', // read_only_sql_transaction: a standby, or a replaced primary
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOENT', // Postgres removes its socket when it stops
  NO_ANSWER,
]
/** The limit of a statement, of a lock, of a connection or of this program was over. */
const LATE_CODES = ['57014', '55P03', 'CONNECT_TIMEOUT', 'ETIMEDOUT', NO_ANSWER]
const SQLSTATE_LENGTH = 5

/** True if a retry cannot help: the data or the statement is wrong, not the server. */
export const isPermanentFault = (error: unknown): boolean => hasCode(error, PERMANENT_CLASSES, PERMANENT_CODES)

/** True if Postgres is away or has run out of a resource. A retry helps once that is over. */
export const isUnavailable = (error: unknown): boolean =>
  !isOfFile(error) && hasCode(error, UNAVAILABLE_CLASSES, UNAVAILABLE_CODES)

/** True if a server took too long. It may be busy, and need not be away. */
export const isLate = (error: unknown): boolean => hasCode(error, [], LATE_CODES)

/** A missing file has the same code as a missing socket. */
export const isOfFile = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && !/^(?:connect|getaddrinfo|read|write)/.test(String(error.syscall))

const PROGRAMMING_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError]

/** True for an error of this program. It does not mean that a server is away, full or late. */
export const isProgrammingError = (error: unknown): boolean => PROGRAMMING_ERRORS.some((kind) => error instanceof kind)

/**
 * The part of a fault that may be logged or stored: its kind and code. The message of a fault can
 * quote submitted data.
 */
export const describeFault = (error: unknown): string => {
  const code = codeOf(error)
  const name = error instanceof Error ? error.name : typeof error
  return code === undefined ? name : `${name} ${code}`
}

const hasCode = (error: unknown, classes: readonly string[], codes: readonly string[]): boolean => {
  const code = codeOf(error)
  if (code === undefined) return false
  return codes.includes(code) || (code.length === SQLSTATE_LENGTH && classes.includes(code.slice(0, 2)))
}

/** Redis begins a refusal with a word in capitals that names the reason. */
const REFUSED_BY_REDIS = /^[A-Z]+(?= )/

/** The code of a fault from Postgres, Redis or the system. */
export const codeOf = (error: unknown): string | undefined => {
  if (error instanceof Error && error.name === 'ReplyError') return REFUSED_BY_REDIS.exec(error.message)?.[0]
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

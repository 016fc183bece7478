import type { Problem } from './types.ts'

export type Connection = {
  /** Address of the service, with or without `/api/v1` at its end. */
  readonly url: string
  readonly token: string
  /**
   * How long a call may wait for further attempts, in milliseconds; by default 5 minutes. 0: one
   * attempt.
   */
  readonly patienceMs?: number | undefined
  /**
   * The number of failed attempts after which a call gives up; by default there is no limit. An
   * answer 429 or 503 is no failure: it asks for time.
   */
  readonly attempts?: number | undefined
  /**
   * Lets the service refuse unknown members, such as misspelt names (`Prefer: handling=strict`).
   */
  readonly strict?: boolean | undefined
  /** Called before each wait. `status` is undefined if no answer came. */
  readonly onWait?: ((wait: { readonly ms: number; readonly status: number | undefined }) => void) | undefined
}

export type Sent = {
  readonly path: string
  /** By default, a request without a body is a GET, and one with a body is a POST. */
  readonly method?: 'PUT' | 'PATCH' | 'DELETE' | undefined
  readonly body?: unknown
  readonly idempotencyKey?: string | undefined
  readonly waitSeconds?: number | undefined
}

type Answer = { readonly status: number; readonly body: unknown; readonly headers: ReadonlyMap<string, string> }

/**
 * The request was not accepted, or no answer came. Without an answer `status` is undefined, and
 * repeating the request with the same key is harmless.
 */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  /** The status of the last attempt; undefined if it got no answer. */
  readonly status: number | undefined
  /** The problems of the body, from an answer 400. */
  readonly problems: readonly Problem[]
  readonly requestId: string | undefined

  constructor(message: string, failed: Partial<Failed> & { readonly problems?: readonly Problem[] | undefined } = {}) {
    super(message, { cause: failed.cause })
    this.status = failed.status
    this.problems = failed.problems ?? []
    this.requestId = failed.requestId
  }
}

/** Waits before the next attempt. False if the call lacks the time or the attempts for it. */
type Patience = (failed: {
  readonly status?: number | undefined
  retryAfterMs?: number | undefined
}) => Promise<boolean>

/**
 * Passing faults: a slow connection, a limit, and a fault of the service or of a proxy before it.
 */
export const PASSING: readonly number[] = [408, 429, 500, 502, 503, 504]
/** The rate limit and a busy service. */
export const PUT_OFF: readonly number[] = [429, 503]

const BASE_PATH = '/api/v1'
const DEFAULT_PATIENCE_MS = 5 * 60_000
const ATTEMPT_TIMEOUT_MS = 30_000
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000
const MS_PER_SECOND = 1_000
const MOST_QUOTED_CHARACTERS = 300

/**
 * The waits of one call. A wait is as long as the service asks. Other waits grow up to
 * LONGEST_WAIT_MS, and are random, so that callers do not return together.
 */
export const patienceOf = ({ patienceMs = DEFAULT_PATIENCE_MS, attempts = Infinity, onWait }: Connection): Patience => {
  let left = patienceMs
  let waits = 0
  let failures = 0
  return async ({ status, retryAfterMs }) => {
    if (!PUT_OFF.includes(status ?? 0) && ++failures >= attempts) return false
    // After `Retry-After: 0`, a busy service gets a pause all the same.
    const ms = retryAfterMs || randomMs(waits++)
    if (ms > left) return false
    left -= ms
    onWait?.({ ms, status })
    await new Promise((resolve) => setTimeout(resolve, ms))
    return true
  }
}

const randomMs = (waits: number): number =>
  Math.min(FIRST_WAIT_MS * 2 ** waits, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)

/**
 * Sends a request until it is accepted or finally refused, or until the patience is used up.
 *
 * @throws RequestError
 */
export const send = async (connection: Connection, sent: Sent, patience: Patience): Promise<Answer> => {
  for (;;) {
    const outcome = await attempt(connection, sent)
    if (!('failed' in outcome)) return outcome
    const { failed } = outcome
    const passes = failed.status === undefined ? !isUntrusted(failed) : PASSING.includes(failed.status)
    if (!passes || !(await patience(failed))) throw errorOf(failed, connection)
  }
}

type Failed = {
  readonly status: number | undefined
  readonly text: string
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
  readonly cause: unknown
}

const attempt = async (
  { url, token, strict }: Connection,
  { path, method, body, idempotencyKey, waitSeconds }: Sent,
): Promise<Answer | { failed: Failed }> => {
  const preferences = [...(waitSeconds ? [`wait=${waitSeconds}`] : []), ...(strict ? ['handling=strict'] : [])]
  try {
    const response = await fetch(`${url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}${BASE_PATH}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        ...(preferences.length > 0 && { Prefer: preferences.join(', ') }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      // Following a redirection would turn a POST into a GET.
      redirect: 'manual',
      ...(isOfThisMachine(url) && { proxy: false }),
      signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS + (waitSeconds ?? 0) * MS_PER_SECOND),
    })
    const text = await response.text()
    const json = jsonOf(text)
    const { status } = response
    if (response.ok && json !== undefined) return { status, body: json, headers: new Map(response.headers) }
    const requestId = response.headers.get('X-Request-Id') ?? undefined
    const retryAfterMs = waitOf(response.headers.get('Retry-After'))
    return { failed: { status, text, requestId, retryAfterMs, cause: undefined } }
  } catch (cause) {
    return { failed: { status: undefined, text: '', requestId: undefined, retryAfterMs: undefined, cause } }
  }
}

/**
 * On Bun, requests to this machine take no proxy. By default Bun would send the token and the body
 * through the proxy of HTTP_PROXY. So does Deno, where only NO_PROXY prevents it. Node.js uses no
 * proxy by default.
 */
export const isOfThisMachine = (url: string): boolean =>
  URL.canParse(url) && /^(?:127(?:\.\d+){3}|0\.0\.0\.0|\[::1\]|(?:.+\.)?localhost)$/.test(new URL(url).hostname)

/** Retry-After has seconds or a date (RFC 9110, 10.2.3). */
const waitOf = (retryAfter: string | null): number | undefined => {
  if (!retryAfter) return undefined
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * MS_PER_SECOND : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

const errorOf = (failed: Failed, { url }: Connection): RequestError => {
  if (failed.status === undefined) {
    const why = codeOf(failed) ?? causesOf(failed.cause).at(-1)?.message
    return new RequestError(`${url} does not answer${why === undefined ? '' : ` (${why})`}`, failed)
  }
  const error = (jsonOf(failed.text) as { error?: unknown } | undefined)?.error
  if (Array.isArray(error)) {
    const problems = error as Problem[]
    return new RequestError(`400: ${problems.map(({ message }) => message).join('; ')}`, { ...failed, problems })
  }
  const reason = typeof error === 'string' ? error : failed.text.slice(0, MOST_QUOTED_CHARACTERS)
  return new RequestError(`${failed.status}: ${reason || 'this does not look like the service'}`, failed)
}

/**
 * A code such as ECONNREFUSED. Bun has the code in the error, and Node.js in the cause of the
 * error. Deno has it only in the message.
 */
const codeOf = ({ cause }: Failed): string | undefined =>
  causesOf(cause)
    .map((error) => ('code' in error ? error.code : undefined))
    .find((code) => typeof code === 'string')

/** Waiting does not mend a bad certificate. */
const isUntrusted = (failed: Failed): boolean =>
  /CERT|LEAF_SIGNATURE/.test(codeOf(failed) ?? '') ||
  causesOf(failed.cause).some(({ message }) => /certificate/i.test(message))

const causesOf = (cause: unknown): Error[] => (cause instanceof Error ? [cause, ...causesOf(cause.cause)] : [])

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}

import { MAX_BATCH_BODY_BYTES, MAX_BATCH_ITEMS } from '../../contract/limits.ts'
import { coalesce } from '../../runtime/coalesce.ts'
import type { Service } from './find-service.ts'

/**
 * `path` and `operation` name the same operation: a single request goes to the path, an item of a
 * batch has the operation.
 */
export type Request = { readonly path: string; readonly operation: string; readonly body: string; readonly key: string }

export type Answer = {
  readonly status: number
  readonly retryAfter: string | null
  readonly error: unknown
  readonly text: string
}

/** No answer came. The cause is the code of the system or of TLS. */
export type Unanswered = { readonly status?: undefined; readonly cause: string }
export type Outcome = Answer | Unanswered

const REQUEST_TIMEOUT_MS = 60_000
/**
 * A character can take four bytes, and the envelope of a batch takes some. A larger body is sent
 * alone.
 */
const MOST_CHARACTERS = MAX_BATCH_BODY_BYTES / 8
/**
 * Refusals of a whole batch. Its items are then sent one by one, so that each gets its own answer.
 */
const REFUSED_AS_A_WHOLE = [400, 413]

/**
 * Posts requests. Simultaneous requests share a batch, and each gets the answer that it would get
 * alone.
 *
 * @param concurrency how many HTTP requests may be under way
 */
export const postTo = (service: Service, concurrency: number): ((request: Request) => Promise<Outcome>) =>
  coalesce((requests: readonly Request[]) => postTogether(service, requests), {
    items: MAX_BATCH_ITEMS,
    weight: { most: MOST_CHARACTERS, weigh: ({ body }) => body.length },
    concurrency,
  })

const postTogether = async (service: Service, requests: readonly Request[]): Promise<readonly Outcome[]> => {
  if (requests.length === 1) return [await postAlone(service, requests[0]!)]
  // Bodies are sent as written, so that numbers keep their digits.
  const items = requests.map(
    ({ operation, key, body }) => `{"operation":"${operation}","idempotencyKey":"${key}","body":${body}}`,
  )
  const answer = await post(service, '/batch', { body: `{"items":[${items.join(',')}]}` })
  if (answer.status !== undefined && REFUSED_AS_A_WHOLE.includes(answer.status)) {
    const alone: Outcome[] = []
    for (const request of requests) alone.push(await postAlone(service, request))
    return alone
  }
  if (answer.status !== 200) return requests.map(() => answer)
  return (JSON.parse(answer.text) as { results: Result[] }).results.map(asAnswer)
}

type Result = { status: number; retryAfter?: number; body: { error?: unknown } }

const asAnswer = ({ status, retryAfter, body }: Result): Answer => ({
  status,
  retryAfter: retryAfter === undefined ? null : String(retryAfter),
  error: body.error,
  text: JSON.stringify(body),
})

const postAlone = (service: Service, { path, body, key }: Request): Promise<Outcome> =>
  post(service, path, { body, headers: { 'idempotency-key': key } })

const post = async (
  { url, token }: Service,
  path: string,
  { body, headers }: { body: string; headers?: Readonly<Record<string, string>> },
): Promise<Outcome> => {
  try {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        prefer: 'handling=strict',
        ...headers,
      },
      body,
      // Following a redirection would turn the POST into a GET.
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    const text = await response.text()
    return { status: response.status, retryAfter: response.headers.get('retry-after'), error: errorIn(text), text }
  } catch (error) {
    return { cause: causeOf(error as Failure) }
  }
}

type Failure = {
  readonly code?: unknown
  readonly name?: unknown
  readonly message?: unknown
  readonly cause?: Failure
}

/** The place of the code depends on the runtime. */
const causeOf = ({ code, name, message, cause }: Failure): string => {
  if (typeof code === 'string') return code
  if (cause !== undefined) return causeOf(cause)
  return name === 'TimeoutError' ? 'ETIMEDOUT' : String(message ?? name).replace(/^.*client error \(\w+\): /, '')
}

const errorIn = (text: string): unknown => {
  try {
    return (JSON.parse(text) as { error?: unknown } | null)?.error
  } catch {
    return undefined
  }
}

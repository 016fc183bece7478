import { type BatchItem, type CallOptions, createClient, RequestError } from '../../client/client.ts'
import { PASSING } from '../../client/send.ts'
import { MAX_BATCH_BODY_BYTES } from '../../contract/limits.ts'
import { coalesce } from '../../runtime/coalesce.ts'
import { parseExactly } from '../../runtime/exact-json.ts'
import type { ServiceAccess } from './find-service.ts'
import { ImportError } from './import-error.ts'
import { type Kind, RECORDS } from './kinds.ts'

type Sending = {
  readonly service: ServiceAccess
  readonly kind: Kind
  /** The most HTTP requests under way. */
  readonly atOnce: number
  /** Called before each wait. */
  readonly onWait: (ms: number, reason: string) => void
}

/** The body of a record, and the idempotency key that makes it harmless to repeat the request. */
type Request = { readonly body: string; readonly key: string }

/** Returns the reasons of a refusal, or none. */
type Send = (request: Request) => Promise<readonly string[]>

/** The most failed attempts of a request. Answers 429 and 503 are no failures. */
const ATTEMPTS = 6
/**
 * The most characters of the bodies in a batch. A character can take several bytes, and a batch has
 * further members. A larger body is sent alone.
 */
const MOST_CHARACTERS = MAX_BATCH_BODY_BYTES / 8
/** The most records of one request. A batch of conversations would hit their rate limit. */
export const mostPerRequest = (kind: Kind): number => (kind === 'conversations' ? 1 : 100)
/** Statuses that refuse one record. Other refusals concern every record. */
const REFUSED = [400, 413, 415, 422, 500]
/**
 * Statuses that refuse a whole batch. Its records are then sent one by one, to get an answer each.
 */
const REFUSED_AS_A_WHOLE = [400, 413]

/**
 * Returns a function that sends a record with the client, which repeats requests. Simultaneous
 * records share a batch, except conversations.
 *
 * @throws ImportError when no service answers. The returned function throws an ImportError when no
 * further record can succeed: the service is away, or the token or the address is wrong.
 */
export const createSender = async ({ service, kind, atOnce, onWait }: Sending): Promise<Send> => {
  await reach(service)
  const client = createClient({
    ...service,
    strict: true,
    patienceMs: Infinity,
    attempts: ATTEMPTS,
    onWait: ({ ms, status }) => onWait(ms, WAIT_REASONS[String(status)] ?? `answered ${status}`),
  })
  const { operation, call } = RECORDS[kind]
  const submit = client[call] as (body: unknown, options: CallOptions) => Promise<unknown>
  const sendAlone = ({ body, key }: Request): Promise<readonly string[]> =>
    submit(parseExactly(body), { idempotencyKey: key }).then(() => [], reasonsOf)
  const sendTogether = async (requests: readonly Request[]): Promise<readonly (readonly string[])[]> => {
    if (requests.length === 1) return [await sendAlone(requests[0]!)]
    const items = requests.map(({ body, key }) => ({ operation, body: parseExactly(body), idempotencyKey: key }))
    try {
      const results = await client.submitBatch(items as BatchItem[])
      return results.map(({ status, body }) => (status < 300 ? [] : reasonsOf(refusalOf(status, body))))
    } catch (error) {
      if (!(error instanceof RequestError) || !REFUSED_AS_A_WHOLE.includes(error.status ?? 0))
        throw asImportError(error)
      const alone: (readonly string[])[] = []
      for (const request of requests) alone.push(await sendAlone(request))
      return alone
    }
  }
  return coalesce(sendTogether, {
    items: mostPerRequest(kind),
    weight: { most: MOST_CHARACTERS, weigh: ({ body }) => body.length },
    concurrency: atOnce,
  })
}

const WAIT_REASONS: Readonly<Record<string, string>> = {
  undefined: 'no answer',
  429: 'rate limit',
  503: 'the service is busy',
}

/** Asks once for some receipt, so that the import ends without a wait if no service answers. */
const reach = async (service: ServiceAccess): Promise<void> => {
  const client = createClient({ ...service, patienceMs: 0 })
  await client.getSubmission(crypto.randomUUID()).catch((error: unknown) => {
    if (!(error instanceof RequestError) || error.status === undefined) throw asImportError(error)
  })
}

const refusalOf = (status: number, body: unknown): RequestError => {
  const { error } = body as { error: RequestError['problems'] | string }
  return typeof error === 'string'
    ? new RequestError(`${status}: ${error}`, { status })
    : new RequestError(String(status), { status, problems: error })
}

const reasonsOf = (error: unknown): readonly string[] => {
  if (!(error instanceof RequestError) || !REFUSED.includes(error.status ?? 0)) throw asImportError(error)
  return error.problems.length > 0 ? error.problems.map(({ message }) => message) : [error.message]
}

const asImportError = (error: unknown): unknown =>
  error instanceof RequestError
    ? new ImportError(
        `${error.message.replace(/\.$/, '')}. ${remedyOf(error)} Then run the same command again: it continues where it stopped.`,
      )
    : error

const remedyOf = ({ status }: RequestError): string => {
  if (status === 401) return 'The token is not valid: set FEEDBACK_TOKEN (or --token) to another one.'
  if (status === 403)
    return 'The token lacks the permission: set FEEDBACK_TOKEN (or --token) to a token of scope submit or admin.'
  return status === undefined || PASSING.includes(status)
    ? 'Check that the service runs, and that FEEDBACK_URL (or --url) is its address.'
    : 'The address is not that of the service: correct FEEDBACK_URL (or --url).'
}

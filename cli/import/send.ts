import { setTimeout as pauseFor } from 'node:timers/promises'
import type { Problem } from '../../contract/check-body.ts'
import { retryAfterMs } from '../../runtime/retry-after.ts'
import type { Service } from './find-service.ts'
import { ImportError } from './import-error.ts'
import { type Answer, type Outcome, postTo, type Request } from './post.ts'

export type Sending = {
  readonly service: Service
  /** The most HTTP requests under way. */
  readonly atOnce: number
  /** Ends a wait. */
  readonly stop: AbortSignal
  /** Called before each wait. */
  readonly onWait: (ms: number, reason: string) => void
}

const ACCEPTED: readonly number[] = [200, 201]
const REFUSED: readonly number[] = [400, 413, 415, 422]
/** The rate limit and a full service: both pass by themselves. */
const PUT_OFF: readonly number[] = [429, 503]
const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 30_000
/** The most attempts without an answer of the service, for one submission. */
const MAX_FAILURES = 6
const OF_TLS = /CERT|ERR_TLS|ERR_SSL|UNABLE_TO_|EPROTO/i
/** Repeating does not help with an unknown host name or a bad certificate. */
const isFinal = (cause: string): boolean =>
  OF_TLS.test(cause) || /ENOTFOUND|failed to lookup|ERR_INVALID_URL/.test(cause)
const IS_REFUSED = /ECONNREFUSED|Connection refused/

const SHORTEST_WAIT_MS = 1_000
const DEFAULT_WAIT_MS = 5_000
const MAX_QUOTED_CHARACTERS = 300

/** Returns the reasons of a refusal, or none. */
type Send = (request: Request) => Promise<readonly string[]>

/**
 * Sends a request until the service has accepted or refused it. When the service asks for time, all
 * requests wait as long as it says, any number of times. Repeating is harmless, since each request
 * has its idempotency key.
 *
 * @throws ImportError when no submission can succeed: no service, a wrong token or address.
 */
export const createSender = ({ service, atOnce, stop, onWait }: Sending): Send => {
  const post = postTo(service, atOnce)
  let resumeAt = 0
  let hasAnswered = false
  const waitUntilResumed = async (): Promise<void> => {
    for (let left = resumeAt - Date.now(); left > 0; left = resumeAt - Date.now())
      await pauseFor(left, undefined, { signal: stop })
  }
  const pause = (ms: number, reason: string): void => {
    // Only the first of the waiting requests reports the wait.
    if (Date.now() >= resumeAt) onWait(ms, reason)
    resumeAt = Math.max(resumeAt, Date.now() + ms)
  }
  return async (request) => {
    for (let failures = 0; ;) {
      await waitUntilResumed()
      const answer = await post(request)
      if (answer.status === undefined) {
        // If the address has never answered, it is wrong or the service is not started.
        const isWrong = isFinal(answer.cause) || (IS_REFUSED.test(answer.cause) && !hasAnswered)
        if (isWrong) throw unreachable(service, answer.cause)
      } else {
        hasAnswered = true
        const { status } = answer
        if (ACCEPTED.includes(status)) return []
        if (REFUSED.includes(status)) return reasonsOf(answer)
        if (PUT_OFF.includes(status)) {
          pause(waitOf(answer), status === 503 ? 'the service is busy' : 'rate limit')
          continue
        }
        if (status < 500 && status !== 408) throw notPermitted(answer)
      }
      if (++failures >= MAX_FAILURES) return giveUp(answer, service)
      pause(
        Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS),
        answer.status === undefined ? `no answer (${answer.cause})` : `answered ${answer.status}`,
      )
    }
  }
}

const waitOf = ({ retryAfter }: Answer): number =>
  Math.max(SHORTEST_WAIT_MS, retryAfterMs(retryAfter) ?? DEFAULT_WAIT_MS)

const reasonsOf = ({ status, error, text }: Answer): string[] => {
  if (Array.isArray(error) && error.length > 0) return (error as Problem[]).map(({ message }) => message)
  return [typeof error === 'string' ? error : `answered ${status}: ${text.slice(0, MAX_QUOTED_CHARACTERS)}`]
}

const giveUp = (answer: Outcome, service: Service): string[] => {
  // The service answers but fails on this submission; the others need not wait for it.
  if (answer.status === 500) return reasonsOf(answer)
  throw unreachable(service, answer.status === undefined ? answer.cause : `status ${answer.status}`)
}

const unreachable = ({ url }: Service, cause: string): ImportError => {
  const again = 'Then run the same command again: it continues where it stopped.'
  if (OF_TLS.test(cause))
    return new ImportError(`The TLS connection to ${url} failed: ${cause}. Correct the certificate or --url. ${again}`)
  return new ImportError(`${url} does not answer (${cause}). Check --url, and that the service runs there. ${again}`)
}

const notPermitted = ({ status, error, text }: Answer): ImportError => {
  const reason = typeof error === 'string' ? error : text.slice(0, MAX_QUOTED_CHARACTERS)
  switch (status) {
    case 401:
      return new ImportError(
        'The service does not know this token (401). Give a valid one with --token or FEEDBACK_TOKEN.',
      )
    case 403:
      return new ImportError(`The token does not permit this (403): ${reason}`)
    default:
      return new ImportError(`The answer does not look like the service (${status}): ${reason}. Check --url.`)
  }
}

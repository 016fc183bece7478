import type { Submission } from './demo-data.ts'
import type { Service } from './find-service.ts'

export type SubmitDeps = {
  readonly service: Pick<Service, 'url' | 'accessToken'>
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly wait: (seconds: number) => Promise<void>
  /** Called before each wait. */
  readonly onWait: (seconds: number, reason: string) => void
  readonly onDone: () => void
}

const AT_ONCE = 16
/** The wait without a Retry-After. */
const DEFAULT_WAIT_SECONDS = 5
/** The most waits for one request. The limit for conversations needs only a few. */
const MAX_WAITS = 20

/** The service cannot be reached: it is not running, or it ended. */
export class Unreachable extends Error {}
/** The service answered and will not accept the submission, even if it is repeated. */
export class Refused extends Error {}

/** Sends the submissions in their order, several at a time. Stops after a failure. */
export const submitAll = async (submissions: readonly Submission[], deps: SubmitDeps): Promise<void> => {
  const waiting = [...submissions]
  const send = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await submit(next, deps)
      deps.onDone()
    }
  }
  const stop = (error: unknown) => {
    waiting.length = 0
    throw error
  }
  await Promise.all(Array.from({ length: AT_ONCE }, () => send().catch(stop)))
}

/** Repeats after 429 and 503. That is harmless, since every record has its own id. */
const submit = async (submission: Submission, deps: SubmitDeps): Promise<void> => {
  for (let waits = 0; waits <= MAX_WAITS; waits++) {
    const response = await post(submission, deps)
    const text = await response.text()
    if (response.ok) return
    if (response.status !== 429 && response.status !== 503) {
      throw new Refused(`POST /api/v1/${submission.path} was answered ${response.status}: ${text.slice(0, 300)}`)
    }
    const seconds = Number(response.headers.get('retry-after')) || DEFAULT_WAIT_SECONDS
    deps.onWait(seconds, response.status === 429 ? 'rate limit' : 'service is busy')
    await deps.wait(seconds)
  }
  throw new Refused(`POST /api/v1/${submission.path} was put off ${MAX_WAITS} times. Run the demo again later.`)
}

const post = async ({ path, body }: Submission, { service, fetch }: SubmitDeps): Promise<Response> => {
  try {
    return await fetch(`${service.url}/api/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  } catch (cause) {
    throw new Unreachable(`no answer from ${service.url}`, { cause })
  }
}

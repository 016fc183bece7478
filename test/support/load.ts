import { setTimeout as pause } from 'node:timers/promises'
import { until } from './until.ts'

/**
 * The results of a client. `late`: requests without an answer within LATE_MS. `unknown`: requests
 * that may have been accepted or not.
 */
export type Seen = {
  accepted: Map<string, string>
  unknown: number
  refused: number
  late: number
  slowestMs: number
  wrong: string[]
}
export type Asked = { readonly url: string; readonly accessToken: string }
export type Load = { seen: Seen; stop: () => Promise<void> }

const CLIENTS = 4
const BETWEEN_MS = 10
const AFTER_TROUBLE_MS = 50
const LATE_MS = 60_000

let texts = 0

export const nothingSeen = (): Seen => ({
  accepted: new Map(),
  unknown: 0,
  refused: 0,
  late: 0,
  slowestMs: 0,
  wrong: [],
})

/**
 * Clients that submit one record after the other until they are stopped, each with a unique text.
 */
export const startLoad = (stack: Asked): Load => {
  const seen = nothingSeen()
  const stopped = new AbortController()
  const client = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const fine = await submitOne(stack, seen, { index: texts++ })
      await pause(fine ? BETWEEN_MS : AFTER_TROUBLE_MS)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return {
    seen,
    stop: async () => {
      stopped.abort()
      await Promise.all(clients)
    },
  }
}

const MORE_WITHIN_MS = 120_000

/** Waits until this many more submissions are accepted. */
export const moreIsAccepted = ({ seen: { accepted } }: Load, more = 20): Promise<unknown> => {
  const wanted = accepted.size + more
  return until('more submissions are accepted', () => Promise.resolve(accepted.size > wanted), MORE_WITHIN_MS)
}

/** True if it was accepted. Only a 2xx, or a 503 with a time to retry, is a valid answer. */
export const submitOne = async (
  { url, accessToken }: Asked,
  seen: Seen,
  { index, more = '' }: { index: number; more?: string },
): Promise<boolean> => {
  const text = `load ${index} of ${url}${more}`
  const { path, body } = submission(text, index)
  const startedAt = performance.now()
  try {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${accessToken}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(LATE_MS),
    })
    const answered = await answer.text()
    const id = answer.headers.get('Submission-Id')
    if ((answer.status === 200 || answer.status === 201) && id !== null) {
      seen.accepted.set(id, text)
      return true
    }
    if (answer.status === 503 && Number(answer.headers.get('Retry-After')) > 0) seen.refused++
    else seen.wrong.push(`${path} ${answer.status} ${answered}`)
  } catch (error) {
    seen.unknown++
    if (error instanceof Error && error.name === 'TimeoutError') seen.late++
  } finally {
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startedAt)
  }
  return false
}

const submission = (text: string, index: number): { path: string; body: object } => {
  const contact = { id: `contact ${index % 50}`, properties: { $email: `c${index % 50}@example.com`, text } }
  if (index % 10 === 3) return { path: '/contacts/identify', body: contact }
  if (index % 10 === 7) {
    const createdAt = '2026-01-01T00:00:00Z'
    const messages = [{ id: 'm', incoming: true, contactId: contact.id, content: text, createdAt }]
    return {
      path: '/conversations',
      body: { id: `chat ${index}`, source: 'chat', createdAt, contacts: [contact], messages },
    }
  }
  return { path: '/feedbacks', body: { description: text, contact: { email: `c${index % 50}@example.com` } } }
}

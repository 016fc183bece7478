import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** In milliseconds: from sending until it was accepted, and from then until it was known to be applied. */
type Seen = { accepted: number; applied: number }
/** `failed`: what became of those that were not accepted, or not applied in time. */
export type Waits = {
  count: number
  median: number
  slowest: number
  slowestAccepted: number
  failed: readonly string[]
}

export type Bystander = {
  /** Ends the sending, and tells when all that was sent is applied, or has waited for too long. */
  stop: () => Promise<Waits>
}

const EVERY_MS = 200
const PEOPLE = 20

/** A client that sends a feedback every 200 ms, and waits for each of them, for `patienceMs` at most. */
export const startBystander = (service: Service, patienceMs: number): Bystander => {
  const stopped = new AbortController()
  const sent: Promise<Seen | string>[] = []
  const sending = (async () => {
    for (let due = performance.now(); !stopped.signal.aborted; due += EVERY_MS) {
      await pause(Math.max(0, due - performance.now()))
      sent.push(submitOne(service, sent.length % PEOPLE, patienceMs).catch((error: unknown) => String(error)))
    }
  })()
  return {
    stop: async () => {
      stopped.abort()
      await sending
      return waitsOf(await Promise.all(sent))
    },
  }
}

/** What came of one: a text when it was not applied. The clocks are all that of this machine. */
const submitOne = async ({ post, sql }: Service, person: number, patienceMs: number): Promise<Seen | string> => {
  const sentAt = Date.now()
  const body = { description: 'Nothing to do with it', tags: [], contact: { email: `bystander-${person}@example.com` } }
  const answer = await post('/feedbacks', body, { headers: { Prefer: 'wait=30' } })
  if (answer.status !== 201) return `answered ${answer.status} ${answer.text}`
  const toldAt = answer.headers.get('Submission-State') === 'applied' ? Date.now() : undefined
  const id = answer.headers.get('Submission-Id')
  const findReceipt = async () => {
    const [row] = await sql<{ state: string; acceptedAt: Date; attempts: number }[]>`
      select state, accepted_at as "acceptedAt", attempts from submission where id = ${id} and state <> 'queued'`
    return row
  }
  const { state, acceptedAt, attempts } = await until('the receipt of a bystander', findReceipt, patienceMs)
  if (state !== 'applied' || attempts !== 1) return `${state} at attempt ${attempts}`
  return { accepted: acceptedAt.getTime() - sentAt, applied: (toldAt ?? Date.now()) - acceptedAt.getTime() }
}

const waitsOf = (sent: readonly (Seen | string)[]): Waits => {
  const seen = sent.filter((one) => typeof one !== 'string')
  const waits = seen.map(({ applied }) => applied).toSorted((a, b) => a - b)
  return {
    count: sent.length,
    median: waits[Math.floor(waits.length / 2)] ?? 0,
    slowest: waits.at(-1) ?? 0,
    slowestAccepted: Math.max(0, ...seen.map(({ accepted }) => accepted)),
    failed: sent.filter((one) => typeof one === 'string'),
  }
}

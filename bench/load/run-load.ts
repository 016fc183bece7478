import { BODIES } from '../bodies.ts'
import { percentile } from '../figures/statistics.ts'
import { type Connection, openConnection } from './connection.ts'
import type { LoadOrder, LoadResult } from './order.ts'

const LOOK_EVERY_MS = 1
const MS_PER_SECOND = 1_000

type LoadRun = {
  readonly connections: readonly Connection[]
  readonly latenciesMs: number[]
  readonly isOver: () => boolean
  readonly most: number
  /** Sends the next request on a connection. */
  readonly send: (connection: Connection, dueAt: number, onAnswer: () => void) => void
}

/**
 * Sends requests until the order is complete, its time is over or `stop` is aborted. Then waits for
 * the missing answers. Rejects when a connection breaks.
 */
export const runLoad = async (order: LoadOrder, stop: AbortSignal): Promise<LoadResult> => {
  const broken = Promise.withResolvers<never>()
  const { hostname, port, pathname } = new URL(order.url)
  const address = { hostname, port: Number(port) }
  const opening = Array.from({ length: order.connections }, () => openConnection(address, broken.reject))
  const connections = await Promise.race([Promise.all(opening), broken.promise])
  const latenciesMs: number[] = []
  let refused = 0
  let sent = 0
  let bodyBytes = 0
  const send: LoadRun['send'] = (connection, dueAt, onAnswer) => {
    const number = order.numbers.from + sent
    const body = JSON.stringify(BODIES[order.kind](number, { people: order.people }))
    const head = headOf(order, pathname, { place: sent, number })
    sent++
    // The body is ASCII: one byte a character.
    bodyBytes += body.length
    connection.send(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, (status) => {
      if (status === 200 || status === 201) latenciesMs.push(performance.now() - dueAt)
      else refused++
      onAnswer()
    })
  }
  const stopped = AbortSignal.any([stop, AbortSignal.timeout(order.seconds * MS_PER_SECOND)])
  const { most } = order.numbers
  const isOver = (): boolean => stopped.aborted || sent >= most
  const run: LoadRun = { connections, latenciesMs, isOver, most, send }
  const startedAt = performance.now()
  try {
    await Promise.race([order.perSecond === undefined ? runClosed(run) : runOpen(run, order.perSecond), broken.promise])
  } finally {
    for (const connection of connections) connection.close()
  }
  const sorted = Float64Array.from(latenciesMs).sort()
  return {
    accepted: sorted.length,
    refused,
    bodyBytes,
    seconds: (performance.now() - startedAt) / MS_PER_SECOND,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  }
}

const runClosed = ({ connections, isOver, send }: LoadRun): Promise<unknown> => {
  return Promise.all(
    connections.map(
      (connection) =>
        new Promise<void>((resolve) => {
          const sendNext = (): void => (isOver() ? resolve() : send(connection, performance.now(), sendNext))
          sendNext()
        }),
    ),
  )
}

/**
 * A due request waits for a free connection, and its latency includes the wait. Connections take
 * turns, since the API on Bun closes a connection that is idle for 10 s.
 */
const runOpen = ({ connections, isOver, most, send }: LoadRun, perSecond: number): Promise<void> => {
  const free = [...connections]
  const startedAt = performance.now()
  let sent = 0
  let due = 0
  const sendDue = (): void => {
    while (sent < due && free.length > 0) {
      const connection = free.shift()!
      const dueAt = startedAt + (sent++ / perSecond) * MS_PER_SECOND
      send(connection, dueAt, () => {
        free.push(connection)
        sendDue()
      })
    }
  }
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!isOver()) due = Math.min(most, 1 + Math.floor(((performance.now() - startedAt) / MS_PER_SECOND) * perSecond))
      sendDue()
      if (!isOver() || sent < due || free.length < connections.length) return
      clearInterval(timer)
      resolve()
    }, LOOK_EVERY_MS)
  })
}

/** The head of a request, without the length of the body. */
const headOf = (
  { tokens, idempotencyKeys }: LoadOrder,
  path: string,
  { place, number }: { place: number; number: number },
): string => {
  const key = idempotencyKeys ? `Idempotency-Key: key-${number}\r\n` : ''
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${tokens[place % tokens.length]}\r\n${key}` +
    'Content-Type: application/json\r\n'
  )
}

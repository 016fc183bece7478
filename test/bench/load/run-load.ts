import { feedbackBody } from '../bodies.ts'
import { percentile } from '../figures/statistics.ts'
import { type Connection, openConnection } from './connection.ts'
import type { LoadOrder, LoadResult } from './order.ts'

const LOOK_EVERY_MS = 1
const MS_PER_SECOND = 1_000

type Run = {
  readonly order: LoadOrder
  readonly connections: readonly Connection[]
  readonly latenciesMs: number[]
  readonly stopped: AbortSignal
  /** Sends the next request on a connection. */
  readonly send: (connection: Connection, dueAt: number, onAnswer: () => void) => void
}

/** Carries out an order until its time is over or `stop` says so, then waits for the answers that are missing. */
export const runLoad = async (order: LoadOrder, stop: AbortSignal): Promise<LoadResult> => {
  const broken = Promise.withResolvers<never>()
  const { hostname, port, pathname } = new URL(order.url)
  const address = { hostname, port: Number(port) }
  const opening = Array.from({ length: order.connections }, () => openConnection(address, broken.reject))
  const connections = await Promise.race([Promise.all(opening), broken.promise])
  const latenciesMs: number[] = []
  let refused = 0
  let next = order.from
  const send: Run['send'] = (connection, dueAt, onAnswer) => {
    connection.send(requestOf(order, pathname, next++), (status) => {
      if (status === 200 || status === 201) latenciesMs.push(performance.now() - dueAt)
      else refused++
      onAnswer()
    })
  }
  const stopped = AbortSignal.any([stop, AbortSignal.timeout(order.seconds * MS_PER_SECOND)])
  const run: Run = { order, connections, latenciesMs, stopped, send }
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
    seconds: (performance.now() - startedAt) / MS_PER_SECOND,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    mostMs: sorted.at(-1) ?? 0,
  }
}

const runClosed = ({ connections, stopped, send }: Run): Promise<unknown> => {
  return Promise.all(
    connections.map(
      (connection) =>
        new Promise<void>((resolve) => {
          const sendNext = (): void => (stopped.aborted ? resolve() : send(connection, performance.now(), sendNext))
          sendNext()
        }),
    ),
  )
}

/** A request that is due while no connection is free waits for one, and its waiting counts. */
const runOpen = ({ connections, stopped, send }: Run, perSecond: number): Promise<void> => {
  const free = [...connections]
  const startedAt = performance.now()
  let sent = 0
  let due = 0
  const sendDue = (): void => {
    while (sent < due && free.length > 0) {
      const connection = free.pop()!
      const dueAt = startedAt + (sent++ / perSecond) * MS_PER_SECOND
      send(connection, dueAt, () => {
        free.push(connection)
        sendDue()
      })
    }
  }
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!stopped.aborted) due = Math.floor(((performance.now() - startedAt) / MS_PER_SECOND) * perSecond)
      sendDue()
      if (!stopped.aborted || sent < due || free.length < connections.length) return
      clearInterval(timer)
      resolve()
    }, LOOK_EVERY_MS)
  })
}

const requestOf = ({ token, people, idempotencyKeys }: LoadOrder, path: string, index: number): string => {
  const body = JSON.stringify(feedbackBody(index, { people }))
  const key = idempotencyKeys ? `Idempotency-Key: key-${index}\r\n` : ''
  // The body is ASCII, so its length is its bytes.
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n${key}` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

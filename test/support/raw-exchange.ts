import { Buffer } from 'node:buffer'
import { connect } from 'node:net'

/** Bytes in latin1, or a wait: for a number of answers or for a promise. */
export type Piece = string | { readonly answers: number } | (() => Promise<unknown>)

/**
 * How the client ends the connection after the last piece: it ends its stream, or resets the
 * connection.
 */
export type Ending = 'half-close' | 'reset'

export type Seen = {
  readonly answers: readonly SeenAnswer[]
  /** Received bytes that are not a complete answer. */
  readonly rest: string
  /** Whether the server has closed, or the client has reset the connection. */
  readonly isClosed: boolean
  /**
   * Whether the connection broke, so that received answers may be lost. TCP breaks it if the server
   * closes with unread bytes.
   */
  readonly isBroken: boolean
  /** Whether the client ended the connection before the server closed. */
  readonly hasGoneFirst: boolean
}
type SeenAnswer = {
  readonly status: number
  /** Whether the answer has our form, not a form of the runtime. */
  readonly isOurs: boolean
  readonly head: string
  readonly body: string
}

type Exchange = {
  readonly pieces: readonly Piece[]
  readonly ending?: Ending | undefined
  /** Called after the last piece, and then whenever bytes arrive, while the connection is open. */
  readonly isEnough: (seen: Seen) => boolean
  readonly withinMs: number
  /** If no bytes arrive for this time after the last piece, the client ends its stream. */
  readonly quietMs?: number | undefined
}

/**
 * Sends pieces over a new connection. Returns when the answers are enough, the server has closed,
 * or `withinMs` has passed. Waits for a promise among the pieces without a limit.
 */
export const exchange = async (
  url: string,
  { pieces, ending, isEnough, withinMs, quietMs }: Exchange,
): Promise<Seen> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  let received = ''
  const state = { isClosed: false, isBroken: false, hasGoneFirst: false }
  const waiting = { isLate: false }
  let wake = (): void => {}
  const over = (): void => {
    state.isClosed = true
    wake()
  }
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    wake()
  })
  socket
    .on('end', over)
    .on('close', over)
    .on('error', () => {
      state.isBroken = !state.isClosed
      over()
    })
  const seen = (): Seen => ({ ...answersIn(received), ...state })
  const late = setTimeout(() => {
    waiting.isLate = true
    wake()
  }, withinMs)
  const nextEvent = (): Promise<void> => new Promise((resolve) => (wake = resolve))
  const waitUntil = async (condition: () => boolean): Promise<void> => {
    while (!state.isClosed && !waiting.isLate && !condition()) await nextEvent()
  }
  const endAs = (how: Ending): void => {
    state.hasGoneFirst = !state.isClosed
    if (how === 'reset') socket.resetAndDestroy()
    else socket.end()
  }

  for (const piece of pieces) {
    if (state.isClosed) break
    if (typeof piece === 'string') socket.write(piece, 'latin1')
    else if (typeof piece === 'function') await piece()
    else await waitUntil(() => seen().answers.length >= piece.answers)
  }
  if (ending) endAs(ending)
  let knownLength = -1
  const endIfQuiet = (): void => {
    if (received.length === knownLength && !state.hasGoneFirst) endAs('half-close')
    knownLength = received.length
  }
  const quiet = quietMs === undefined ? undefined : setInterval(endIfQuiet, quietMs)
  await waitUntil(() => isEnough(seen()))
  clearTimeout(late)
  clearInterval(quiet)
  socket.destroy()
  return seen()
}

const HEAD_END = '\r\n\r\n'

/** The final answers in the bytes. Without a Content-Length, an answer has no body here. */
const answersIn = (received: string): Pick<Seen, 'answers' | 'rest'> => {
  const answers: SeenAnswer[] = []
  let rest = received
  for (;;) {
    const end = rest.indexOf(HEAD_END)
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(rest)?.[1])
    if (end < 0 || Number.isNaN(status)) return { answers, rest }
    const head = rest.slice(0, end)
    const from = end + HEAD_END.length
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    if (rest.length < from + length) return { answers, rest }
    const body = Buffer.from(rest.slice(from, from + length), 'latin1').toString()
    if (status >= 200) answers.push({ status, isOurs: isOurs(head), head, body })
    rest = rest.slice(from + length)
  }
}

const isOurs = (head: string): boolean =>
  /^x-request-id: /im.test(head) && /^content-type: application\/json/im.test(head)

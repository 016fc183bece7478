import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type RawAnswer = {
  readonly status: number
  /** The headers by names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

type SendOptions = {
  /** False for HEAD, whose answer has the length of a body but no body. */
  readonly hasBody: boolean
  readonly timeoutMs: number
}

type Open = { readonly socket: Socket; received: string; isOver: boolean; wake: () => void }

/**
 * A connection for one request at a time. It sends bytes unchanged: any method, target, header and
 * length. It stays open between requests, and opens again if the server has closed it.
 */
export class RawConnection {
  readonly #url: URL
  #open: Open | undefined

  constructor(url: string) {
    this.#url = new URL(url)
  }

  /**
   * Returns the final answer. A server may close an idle connection while the next request is on
   * its way. If an idle connection ends before the first byte of the answer, `send` repeats the
   * request once.
   *
   * @throws when there is no whole answer within `timeoutMs`, the connection ends before it, or the
   * answer is not HTTP.
   */
  async send(request: Uint8Array, options: SendOptions): Promise<RawAnswer> {
    const kept = this.#open?.isOver === false ? this.#open : undefined
    const open = kept ?? (this.#open = await opened(this.#url))
    open.received = ''
    const waiting = { isLate: false }
    const late = setTimeout(() => {
      waiting.isLate = true
      open.wake()
    }, options.timeoutMs)
    open.socket.write(request)
    let answer: RawAnswer | undefined
    try {
      while ((answer = answerIn(open, options.hasBody)) === undefined && !open.isOver && !waiting.isLate)
        await new Promise<void>((resolve) => (open.wake = resolve))
    } finally {
      clearTimeout(late)
      if (answer?.headers.get('connection')?.toLowerCase() === 'close' || answer === undefined) this.close()
    }
    if (answer !== undefined) return answer
    if (waiting.isLate) throw new Error(`no answer within ${options.timeoutMs} ms`)
    if (kept !== undefined && open.received === '') return this.send(request, options)
    throw new Error(`the connection ended before the whole answer: ${open.received.slice(0, 80)}`)
  }

  /** The next request uses a new connection. */
  close(): void {
    this.#open?.socket.destroy()
    this.#open = undefined
  }
}

const opened = async ({ hostname, port }: URL): Promise<Open> => {
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.setNoDelay(true).setEncoding('latin1')
  const open: Open = { socket, received: '', isOver: false, wake: () => {} }
  const over = (): void => {
    open.isOver = true
    open.wake()
  }
  socket.on('error', over).on('end', over).on('close', over)
  socket.on('data', (text: string) => {
    open.received += text
    open.wake()
  })
  return open
}

/**
 * The final answer; undefined until it is whole. Interim answers, such as 100 Continue, go before
 * it.
 */
const answerIn = ({ received, isOver }: Pick<Open, 'received' | 'isOver'>, hasBody: boolean): RawAnswer | undefined => {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = received.slice(0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1])
  if (Number.isNaN(status)) throw new Error(`not an HTTP answer: ${first.slice(0, 80)}`)
  const rest = received.slice(end + 4)
  if (status < 200) return answerIn({ received: rest, isOver }, hasBody)
  const headers = new Map(
    lines.map((line) => [line.split(':', 1)[0]!.toLowerCase(), line.replace(/^[^:]*:/, '').trim()]),
  )
  const length = Number(headers.get('content-length') ?? (isOver ? rest.length : Infinity))
  const isEmpty = !hasBody || status === 204 || status === 304
  const isChunked = headers.get('transfer-encoding') === 'chunked'
  const text = isEmpty ? '' : isChunked ? chunksIn(rest) : rest.length < length ? undefined : rest.slice(0, length)
  return text === undefined ? undefined : { status, headers, body: Buffer.from(text, 'latin1') }
}

const chunksIn = (rest: string): string | undefined => {
  const end = rest.indexOf('\r\n') + 2
  const size = Number.parseInt(rest, 16)
  if (end < 2 || rest.length < end + size + 2) return undefined
  if (size === 0) return ''
  const more = chunksIn(rest.slice(end + size + 2))
  return more === undefined ? undefined : rest.slice(end, end + size) + more
}

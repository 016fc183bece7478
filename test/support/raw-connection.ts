import { Buffer } from 'node:buffer'
import { connect, type Socket } from 'node:net'

export type RawAnswer = {
  readonly status: number
  /** The headers by names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export type SendOptions = {
  /** False for HEAD, whose answer has the length of a body but no body. */
  readonly hasBody: boolean
  readonly timeoutMs: number
}

class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

const NOTHING: Buffer = Buffer.alloc(0)
const SEPARATOR = '\r\n\r\n'

/**
 * A connection that, unlike `fetch`, sends bytes unchanged: any method, target, header and length.
 * It is kept alive between requests, and reopened if the server has closed it. One request at a
 * time.
 */
export class RawConnection {
  readonly #url: URL
  #socket: Socket | undefined
  #received = NOTHING
  #wake: () => void = () => {}

  constructor(url: string) {
    this.#url = new URL(url)
  }

  /**
   * A server may close a kept connection at any moment, even while the next request is on its way.
   * So a request without any byte of an answer over a kept connection is repeated once over a new
   * one.
   *
   * @throws when there is no whole answer within `timeoutMs`, or the connection ends before it.
   */
  async send(request: Uint8Array, options: SendOptions): Promise<RawAnswer> {
    const isKept = this.#socket !== undefined
    try {
      return await this.#sendOnce(request, options)
    } catch (error) {
      if (isKept && error instanceof NoAnswer) return this.#sendOnce(request, options)
      throw error
    }
  }

  async #sendOnce(request: Uint8Array, { hasBody, timeoutMs }: SendOptions): Promise<RawAnswer> {
    const socket = await this.#open()
    this.#received = NOTHING
    let late = false
    const timer = setTimeout(() => {
      late = true
      socket.destroy()
      this.#wake()
    }, timeoutMs)
    try {
      socket.write(request)
      const answer = await this.#answer(socket, hasBody)
      if (answer.headers.get('connection')?.toLowerCase() === 'close') this.close()
      return answer
    } catch (error) {
      this.close()
      throw late ? new Error(`no answer within ${timeoutMs} ms`) : error
    } finally {
      clearTimeout(timer)
    }
  }

  /** The next request uses a new connection. */
  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #open(): Promise<Socket> {
    if (this.#socket && !this.#socket.destroyed && this.#socket.readable) return this.#socket
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port) })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    socket.setNoDelay(true)
    const wake = (): void => this.#wake()
    socket.on('data', (piece: Buffer) => {
      this.#received = this.#received.length === 0 ? piece : Buffer.concat([this.#received, piece])
      wake()
    })
    socket.on('error', wake).on('end', wake).on('close', wake)
    this.#socket = socket
    return socket
  }

  /** Waits for more bytes; false at the end of the stream. */
  async #more(socket: Socket): Promise<boolean> {
    if (socket.destroyed || socket.readableEnded) return false
    const before = this.#received.length
    await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.#received.length > before || !(socket.destroyed || socket.readableEnded)
  }

  async #answer(socket: Socket, hasBody: boolean): Promise<RawAnswer> {
    for (;;) {
      const { status, headers } = await this.#head(socket)
      // An interim answer, such as 100 Continue, has no body, and another answer follows.
      if (status < 200) continue
      if (!hasBody || status === 204 || status === 304) return { status, headers, body: Buffer.alloc(0) }
      if (headers.get('transfer-encoding') === 'chunked') return { status, headers, body: await this.#chunks(socket) }
      const length = headers.get('content-length')
      return {
        status,
        headers,
        body: length === undefined ? await this.#rest(socket) : await this.#take(socket, Number(length)),
      }
    }
  }

  async #head(socket: Socket): Promise<Pick<RawAnswer, 'status' | 'headers'>> {
    const text = await this.#until(socket, SEPARATOR)
    const [first = '', ...lines] = text.split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1])
    if (Number.isNaN(status)) throw new Error(`not an HTTP answer: ${first.slice(0, 80)}`)
    const headers = lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
    return { status, headers: new Map(headers) }
  }

  async #until(socket: Socket, mark: string): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf(mark)
      if (end >= 0) {
        const text = this.#received.toString('latin1', 0, end)
        this.#received = this.#received.subarray(end + mark.length)
        return text
      }
      if (await this.#more(socket)) continue
      if (this.#received.length === 0) throw new NoAnswer('the connection ended before the answer')
      throw new Error(`the connection ended within the answer: ${this.#received.toString('latin1', 0, 80)}`)
    }
  }

  async #take(socket: Socket, bytes: number): Promise<Buffer> {
    while (this.#received.length < bytes) {
      if (!(await this.#more(socket))) throw new Error('the connection ended within the answer')
    }
    const taken = this.#received.subarray(0, bytes)
    this.#received = this.#received.subarray(bytes)
    return taken
  }

  async #chunks(socket: Socket): Promise<Buffer> {
    const chunks: Buffer[] = []
    for (;;) {
      const size = Number.parseInt(await this.#until(socket, '\r\n'), 16)
      const chunk = await this.#take(socket, size + 2)
      if (size === 0) return Buffer.concat(chunks)
      chunks.push(chunk.subarray(0, size))
    }
  }

  async #rest(socket: Socket): Promise<Buffer> {
    while (await this.#more(socket));
    return this.#received
  }
}

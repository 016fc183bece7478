import { Buffer } from 'node:buffer'
import type { LookupAddress } from 'node:dns'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { checkedAddresses, withoutBrackets } from '../../runtime/public-address.ts'
import { type AnswerHead, createHeadReader } from './answer-head.ts'

const ANSWER_WITHIN_MS = 15_000
/** The time for a connection to an address, if the host has another address. */
const CONNECT_WITHIN_MS = 3_000

type PostRequest = {
  body: Buffer
  headers: Readonly<Record<string, string>>
  allowedHosts: readonly string[]
  stop: AbortSignal
}

/**
 * Posts a body to an address of the public internet, or to an allowed host, and reads the head of
 * the answer. It uses no proxy and follows no redirect.
 *
 * A socket in place of the runtime's HTTP client: an endless head, or endless informational heads,
 * would take memory and processor time of the worker there.
 *
 * @throws with the code of the failure
 */
export const post = async (url: URL, { body, headers, allowedHosts, stop }: PostRequest): Promise<AnswerHead> => {
  const over = new AbortController()
  const end = (): void => over.abort(stop.reason)
  const late = setTimeout(
    () => over.abort(failure('NO_ANSWER', `The receiver did not answer within ${ANSWER_WITHIN_MS} ms.`)),
    ANSWER_WITHIN_MS,
  )
  stop.addEventListener('abort', end)
  try {
    stop.throwIfAborted()
    const addresses = await unlessOver(over.signal, checkedAddresses(url.hostname, allowedHosts))
    const socket = await connectToFirst(url, addresses, over.signal)
    return await exchange(socket, [requestHead(url, headers, body), body], over.signal)
  } finally {
    clearTimeout(late)
    stop.removeEventListener('abort', end)
  }
}

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code })

const unlessOver = <T>(over: AbortSignal, promise: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const end = (): void => reject(over.reason as Error)
    over.addEventListener('abort', end, { once: true })
    promise.then(resolve, reject).finally(() => over.removeEventListener('abort', end))
  })

/** Tries the addresses in turn. */
const connectToFirst = async (url: URL, addresses: readonly LookupAddress[], over: AbortSignal): Promise<Socket> => {
  let fault: unknown
  for (const [at, { address }] of addresses.entries()) {
    const isLast = at === addresses.length - 1
    try {
      return await open(url, address, { over, withinMs: isLast ? ANSWER_WITHIN_MS : CONNECT_WITHIN_MS })
    } catch (error) {
      if (over.aborted) throw error
      fault = error
    }
  }
  throw fault
}

const open = (
  url: URL,
  address: string,
  { over, withinMs }: { over: AbortSignal; withinMs: number },
): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:'
    const port = Number(url.port) || (isSecure ? 443 : 80)
    const servername = withoutBrackets(url.hostname)
    const socket = isSecure
      ? connectSecurely({
          host: address,
          port,
          ...(isIP(servername) === 0 && { servername }),
          ALPNProtocols: ['http/1.1'],
        })
      : connect({ host: address, port })
    const fail = (error: Error): void => {
      settle()
      socket.destroy()
      reject(error)
    }
    const end = (): void => fail(over.reason as Error)
    const late = setTimeout(() => fail(failure('CONNECT_TIMEOUT', 'The receiver took no connection.')), withinMs)
    const settle = (): void => {
      clearTimeout(late)
      over.removeEventListener('abort', end)
    }
    over.addEventListener('abort', end, { once: true })
    // The listener stays: an error without one would end the process.
    socket.on('error', fail)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      settle()
      resolve(socket)
    })
  })

const requestHead = (url: URL, headers: Readonly<Record<string, string>>, body: Buffer): Buffer => {
  const lines = Object.entries({ ...headers, 'Content-Length': String(body.byteLength), Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${head}\r\n`)
}

/** Sends the request, and closes the connection once the head of the answer is there. */
const exchange = (socket: Socket, request: readonly Buffer[], over: AbortSignal): Promise<AnswerHead> =>
  new Promise<AnswerHead>((resolve, reject) => {
    const reader = createHeadReader()
    const end = (): void => reject(over.reason as Error)
    const closed = (): void => reject(failure('ECONNRESET', 'The receiver closed the connection before it answered.'))
    if (over.aborted) return end()
    over.addEventListener('abort', end, { once: true })
    socket.on('error', reject)
    socket.on('end', closed)
    socket.on('close', closed)
    socket.on('data', (bytes: Buffer) => {
      try {
        const head = reader.read(bytes)
        if (head !== undefined) resolve(head)
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
        socket.destroy()
      }
    })
    socket.setNoDelay(true)
    for (const part of request) socket.write(part)
  }).finally(() => socket.destroy())

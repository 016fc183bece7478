import { createGunzip } from 'node:zlib'
import type { JsonValue } from '../../contract/json.ts'
import { parseJsonText } from '../../contract/json-text.ts'
import { type Encoding, isJsonType, readEncoding } from './request-headers.ts'

export type BodyLimits = {
  /** Counted after decompression. */
  readonly maxBytes: number
  /** The longest time from the call to the last byte. */
  readonly timeoutMs: number
}

export type RefusedBody =
  | { readonly ok: false; readonly reason: 'not-json-type' | 'too-large' | 'too-slow' }
  | {
      readonly ok: false
      readonly reason: 'malformed'
      /** A sentence that says what the service expected and never quotes the body. */
      readonly message: string
      /**
       * The path of the faulty value, in the form of valibot's getDotPath; empty for the body as a
       * whole.
       */
      readonly path: string
    }

export type ReceivedBody = { readonly ok: true; readonly bytes: Uint8Array } | RefusedBody
export type ParsedBody = { readonly ok: true; readonly value: JsonValue } | RefusedBody

/**
 * A body of known length up to this size is read in one call. On Bun this is much faster than a
 * reader.
 */
const TAKEN_AT_ONCE_BYTES = 64 * 1024

/** A generous bound of the bytes that gzip adds to an incompressible body. */
const GZIP_OVERHEAD_BYTES = 64 * 1024

/**
 * The bytes of a body whose content type is JSON. A body that is late, too large or cut off is a
 * value of the union. Memory holds not much more than `maxBytes` of a larger body.
 *
 * @throws TypeError when the body has already been read.
 */
export const receiveBody = async (request: Request, limits: BodyLimits): Promise<ReceivedBody> => {
  if (request.bodyUsed) throw new TypeError('The body of the request has been read before')
  const encoding = readEncoding(request.headers)
  if (encoding === undefined || !isJsonType(request.headers.get('content-type'))) return NOT_JSON_TYPE
  return receive(request, encoding, limits)
}

/** The JSON value in a body. `maxDepth`: how many objects and arrays may be open at once. */
export const parseBody = (bytes: Uint8Array, maxDepth: number): ParsedBody => {
  const text = decode(bytes)
  if (text === undefined) return malformed('The body must be encoded in UTF-8')
  const parsed = parseJsonText(text, maxDepth)
  return parsed.ok ? parsed : { ...parsed, reason: 'malformed' }
}

/** The most bytes that a body can have in memory, at most `maxBytes`. */
export const mostBytesOf = ({ headers }: Request, maxBytes: number): number =>
  Math.min(knownBytesOf(headers) ?? maxBytes, maxBytes)

/**
 * The number of bytes in a body, if its head has it. A chunked body has no length. A repeated
 * length is legal (RFC 9112); the runtimes make it `5, 5`, which is not a number.
 */
const knownBytesOf = (headers: Headers): number | undefined => {
  const length = Number(headers.get('content-length') ?? NaN)
  const isKnown =
    Number.isSafeInteger(length) && !headers.has('transfer-encoding') && readEncoding(headers) === 'identity'
  return isKnown ? length : undefined
}

const NOT_JSON_TYPE: RefusedBody = { ok: false, reason: 'not-json-type' }
const TOO_LARGE: RefusedBody = { ok: false, reason: 'too-large' }
const TOO_SLOW: RefusedBody = { ok: false, reason: 'too-slow' }

const malformed = (message: string): RefusedBody => ({ ok: false, reason: 'malformed', message, path: '' })

const receive = async (request: Request, encoding: Encoding, limits: BodyLimits): Promise<ReceivedBody> => {
  const { maxBytes, timeoutMs } = limits
  const mostBytes = maxBytes + (encoding === 'gzip' ? GZIP_OVERHEAD_BYTES : 0)
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) return TOO_LARGE

  const knownBytes = knownBytesOf(request.headers)
  // Not through `request.body`, which would create a stream for each request.
  const atOnce = knownBytes !== undefined && knownBytes <= TAKEN_AT_ONCE_BYTES
  if (atOnce) return within(timeoutMs, takeAtOnce(request, maxBytes))
  if (request.body === null) return { ok: true, bytes: new Uint8Array() }

  const reader = request.body.getReader()
  const store = createByteStore(maxBytes, knownBytes)
  const received = await within(
    timeoutMs,
    encoding === 'gzip' ? inflate(reader, store, maxBytes) : takeInPieces(reader, store),
  )
  // The cancel also ends a pending read. It rejects if the body failed, but `received` already has
  // that failure.
  if (!received.ok) reader.cancel().catch(() => {})
  return received
}

/** A late read continues in the background; the race handles its rejection. */
const within = async (timeoutMs: number, reading: Promise<ReceivedBody>): Promise<ReceivedBody> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<ReceivedBody>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, TOO_SLOW)
  })
  try {
    return await Promise.race([reading, late])
  } catch {
    // Each runtime has its own errors for a closed connection. No client is left to read the
    // answer.
    return malformed('The body was cut off: send it again as a whole')
  } finally {
    clearTimeout(timer)
  }
}

const takeAtOnce = async (request: Request, maxBytes: number): Promise<ReceivedBody> => {
  const bytes = new Uint8Array(await request.arrayBuffer())
  return bytes.byteLength > maxBytes ? TOO_LARGE : { ok: true, bytes }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

const takeInPieces = async (reader: Reader, store: ByteStore): Promise<ReceivedBody> => {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { ok: true, bytes: store.bytes() }
    if (!store.add(value)) return TOO_LARGE
  }
}

/**
 * node:zlib inflates in small pieces. Deno's DecompressionStream inflates a whole piece before its
 * bytes can be counted, so a small body could fill the memory. Concatenated gzip members are one
 * body (RFC 1952); other bytes after them are an error.
 */
const inflate = async (reader: Reader, store: ByteStore, maxBytes: number): Promise<ReceivedBody> => {
  const gunzip = createGunzip()
  const inflated = new Promise<ReceivedBody>((resolve) => {
    gunzip.on('data', (piece: Uint8Array) => {
      if (!store.add(piece)) resolve(TOO_LARGE)
    })
    gunzip.on('end', () => resolve({ ok: true, bytes: store.bytes() }))
    gunzip.on('error', () => resolve(malformed('The body must be complete and valid gzip data')))
  })
  const feed = async (): Promise<ReceivedBody> => {
    let arrivedBytes = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      arrivedBytes += value.byteLength
      // This also counts members that inflate to nothing.
      if (arrivedBytes > maxBytes + GZIP_OVERHEAD_BYTES) return TOO_LARGE
      await new Promise((resolve) => gunzip.write(value, resolve))
    }
    gunzip.end()
    return inflated
  }
  try {
    return await Promise.race([inflated, feed()])
  } finally {
    gunzip.destroy()
  }
}

type ByteStore = {
  /** Returns false and adds nothing if the store would exceed the limit. */
  add(piece: Uint8Array): boolean
  bytes(): Uint8Array
}

/**
 * One growing buffer. A body can arrive in pieces of one byte, and a list of such pieces takes many
 * times its size.
 */
const createByteStore = (maxBytes: number, knownBytes: number | undefined): ByteStore => {
  let buffer: Uint8Array = new Uint8Array()
  let size = 0
  return {
    add(piece) {
      const newSize = size + piece.byteLength
      if (newSize > maxBytes) return false
      if (size === 0) {
        // Most bodies arrive in one piece, which needs no copy.
        buffer = piece
      } else {
        if (newSize > buffer.byteLength) {
          buffer = grow(buffer, Math.min(maxBytes, Math.max(newSize, knownBytes ?? 2 * size)))
        }
        buffer.set(piece, size)
      }
      size = newSize
      return true
    },
    bytes: () => buffer.subarray(0, size),
  }
}

const grow = (buffer: Uint8Array, bytes: number): Uint8Array<ArrayBuffer> => {
  const grown = new Uint8Array(bytes)
  grown.set(buffer)
  return grown
}

/** Strict, since a lenient decoder would change the content. It strips one byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

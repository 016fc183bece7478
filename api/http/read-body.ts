import { createGunzip } from 'node:zlib'
import type { JsonValue } from '../../contract/json.ts'
import { parseJsonText } from '../../contract/json-text.ts'
import { MAX_DEPTH_LEVELS } from '../../contract/limits.ts'
import { isRefusal, type Refusal } from './refusal.ts'
import { type Encoding, isJsonType, readEncoding } from './request-headers.ts'

const BODY_TIMEOUT_MS = 30_000

/**
 * A body of known length up to this size is read in one call. On Bun this is much faster than a
 * reader.
 */
const TAKEN_AT_ONCE_BYTES = 64 * 1024

/** A generous bound of the bytes that gzip adds to an incompressible body. */
const GZIP_OVERHEAD_BYTES = 64 * 1024

/**
 * The bytes of a body whose content type is JSON. Refuses a body of another type or encoding, and a
 * body that is late, too large, cut off or invalid gzip. Stops reading a larger body soon after
 * `maxBytes`.
 *
 * @param maxBytes counted after decompression
 * @param timeoutMs the longest time from the call to the last byte
 * @throws TypeError when the body has already been read.
 */
export const receiveBody = async (
  request: Request,
  maxBytes: number,
  timeoutMs = BODY_TIMEOUT_MS,
): Promise<Uint8Array | Refusal> => {
  if (request.bodyUsed) throw new TypeError('The body of the request has been read before')
  const encoding = readEncoding(request.headers)
  if (encoding === undefined || !isJsonType(request.headers.get('content-type'))) return { refused: 'not-json' }
  return receive(request, encoding, { maxBytes, timeoutMs })
}

/** The fields of a form of a page. */
export const receiveForm = async (request: Request, maxBytes: number): Promise<URLSearchParams | Refusal> => {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return { refused: 'not-json' }
  const bytes = await receive(request, 'identity', { maxBytes, timeoutMs: BODY_TIMEOUT_MS })
  return isRefusal(bytes) ? bytes : new URLSearchParams(new TextDecoder().decode(bytes))
}

/**
 * The JSON value in a body. An integer that JavaScript would change becomes infinite, and the schema
 * refuses it where it would be stored.
 *
 * @param maxDepth how many levels of objects and arrays may be nested
 */
export const parseBody = (bytes: Uint8Array, maxDepth = MAX_DEPTH_LEVELS): { value: JsonValue } | Refusal => {
  const text = decode(bytes)
  if (text === undefined) return malformed('The body must be encoded in UTF-8')
  const parsed = parseJsonText(text, maxDepth)
  return 'problem' in parsed ? malformed(parsed.problem) : parsed
}

/**
 * The most bytes that a body can have: its length if it is uncompressed and the head of the request
 * has the length, else `maxBytes`; at most `maxBytes`.
 */
export const mostBytesOf = ({ headers }: Request, maxBytes: number): number =>
  Math.min(knownBytesOf(headers) ?? maxBytes, maxBytes)

/**
 * The length of an uncompressed body, if the head of the request has it. A chunked body has no
 * length. A length may be repeated (RFC 9112, 6.3). The runtimes make it `5, 5`, which is not a
 * number, so it counts as unknown.
 */
const knownBytesOf = (headers: Headers): number | undefined => {
  const length = Number(headers.get('content-length') ?? NaN)
  const isKnown =
    Number.isSafeInteger(length) && !headers.has('transfer-encoding') && readEncoding(headers) === 'identity'
  return isKnown ? length : undefined
}

const malformed = (message: string): Refusal => ({ refused: 'invalid', problems: [{ message, path: '' }] })

type BodyLimits = { readonly maxBytes: number; readonly timeoutMs: number }
type Received = Uint8Array | Refusal

const receive = async (request: Request, encoding: Encoding, limits: BodyLimits): Promise<Received> => {
  const { maxBytes, timeoutMs } = limits
  const mostBytes = maxBytes + (encoding === 'gzip' ? GZIP_OVERHEAD_BYTES : 0)
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) return { refused: 'too-large', maxBytes }

  const knownBytes = knownBytesOf(request.headers)
  // `request.body` would create a stream for each request.
  const atOnce = knownBytes !== undefined && knownBytes <= TAKEN_AT_ONCE_BYTES
  if (atOnce) return within(timeoutMs, takeAtOnce(request, maxBytes))
  if (request.body === null) return new Uint8Array()

  const reader = request.body.getReader()
  const store = createByteStore(maxBytes, knownBytes)
  const received = await within(timeoutMs, encoding === 'gzip' ? inflate(reader, store) : takeInPieces(reader, store))
  // The cancel also ends a pending read. It rejects if the body failed, but `received` already has
  // that failure.
  if (isRefusal(received)) reader.cancel().catch(() => {})
  return received
}

/** The result of the reading, or a refusal if it is late. The race handles a later rejection. */
const within = async (timeoutMs: number, reading: Promise<Received>): Promise<Received> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<Received>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, { refused: 'too-slow' })
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

const takeAtOnce = async (request: Request, maxBytes: number): Promise<Received> => {
  const bytes = new Uint8Array(await request.arrayBuffer())
  return bytes.byteLength > maxBytes ? { refused: 'too-large', maxBytes } : bytes
}

type BodyReader = ReadableStreamDefaultReader<Uint8Array>

const takeInPieces = async (reader: BodyReader, store: ByteStore): Promise<Received> => {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return store.bytes()
    if (!store.add(value)) return store.tooLarge
  }
}

/**
 * node:zlib inflates in small pieces. Deno's DecompressionStream inflates a whole received piece
 * before its bytes can be counted, so a small body could fill the memory. Concatenated gzip members
 * are one body (RFC 1952).
 */
const inflate = async (reader: BodyReader, store: ByteStore): Promise<Received> => {
  const gunzip = createGunzip()
  const inflated = new Promise<Received>((resolve) => {
    gunzip.on('data', (piece: Uint8Array) => {
      if (!store.add(piece)) resolve(store.tooLarge)
    })
    gunzip.on('end', () => resolve(store.bytes()))
    gunzip.on('error', () => resolve(malformed('The body must be complete and valid gzip data')))
  })
  const feed = async (): Promise<Received> => {
    let arrivedBytes = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      arrivedBytes += value.byteLength
      // This also counts members that inflate to nothing.
      if (arrivedBytes > store.tooLarge.maxBytes + GZIP_OVERHEAD_BYTES) return store.tooLarge
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
  readonly tooLarge: Extract<Refusal, { refused: 'too-large' }>
}

/**
 * One growing buffer. A body can arrive in pieces of one byte, and a list of such pieces takes many
 * times the size of the body.
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
    tooLarge: { refused: 'too-large', maxBytes },
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

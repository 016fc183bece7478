const CHUNK_BYTES = 64 * 1024
/** In UTF-8, a UTF-16 unit has at most three bytes. */
const CHUNK_UNITS = Math.floor(CHUNK_BYTES / 3)
/** Cuts off slower clients. */
const WRITTEN_WITHIN_MS = 60_000

/** The chunks of an answer that is not empty, one after the other. */
type Chunks = { next: () => Uint8Array; isAtEnd: () => boolean }

/**
 * Sends an answer as the client reads it, so that each client costs a chunk. Calls `ended` once:
 * after the last byte, or when the client is gone or too slow.
 */
export const inChunks = (chunks: Chunks, ended: () => void): ReadableStream => {
  let late: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    clearTimeout(late)
    ended()
  }
  return new ReadableStream(
    {
      start: (controller) => {
        late = setTimeout(() => {
          controller.error(new Error('The client did not read the answer in time'))
          end()
        }, WRITTEN_WITHIN_MS)
      },
      pull: async (controller) => {
        // The buffers of a connection can take a whole answer. Without a turn of the event loop for
        // other requests, many large answers would be written one after the other.
        await new Promise((resolve) => setImmediate(resolve))
        if (isOver) return
        controller.enqueue(chunks.next())
        if (!chunks.isAtEnd()) return
        controller.close()
        end()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

/** The chunks of bytes that several answers may share. */
export const chunksOfBytes = (bytes: Uint8Array): Chunks => {
  let at = 0
  return {
    next: () => bytes.subarray(at, (at += CHUNK_BYTES)),
    isAtEnd: () => at >= bytes.byteLength,
  }
}

const utf8 = new TextEncoder()

/**
 * The chunks of texts, one after the other, in UTF-8. A large text is encoded piece by piece: at
 * once, it would take as much memory again, and hold up other requests. No text may be empty.
 */
export const chunksOfTexts = (texts: readonly string[]): Chunks => {
  const left = [...texts]
  let at = 0
  return {
    next: () => {
      const text = left[0]!
      const from = at
      at = endOfPiece(text, from + CHUNK_UNITS)
      const isLast = at >= text.length
      if (isLast) left.shift()
      const bytes = utf8.encode(text.slice(from, at))
      if (isLast) at = 0
      return bytes
    },
    isAtEnd: () => left.length === 0,
  }
}

/** The two units of a character stay together. */
const endOfPiece = (text: string, end: number): number =>
  (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end + 1 : end

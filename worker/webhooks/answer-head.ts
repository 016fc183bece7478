import { Buffer } from 'node:buffer'

/** `retryAfter`: the header, if there is one. */
export type AnswerHead = { status: number; retryAfter: string | undefined }

/** The bytes of all heads of an answer: receivers may send informational ones before the final head. */
const MOST_BYTES = 32 * 1024
const RETRY_AFTER = 'retry-after:'
/** A date has fewer characters. */
const RETRY_AFTER_LENGTH = 64
const [LF, CR] = [10, 13]

const fault = (code: string, message: string): Error => Object.assign(new Error(message), { code })

/**
 * Reads the head of an HTTP/1.1 answer from bytes as they arrive. `read` returns the head once it is
 * complete, and skips informational heads. Each byte is read once and kept within `MOST_BYTES`, so
 * no answer costs much.
 *
 * @throws with the code HEAD_TOO_LONG or NOT_HTTP
 */
export const createHeadReader = (): { read: (bytes: Uint8Array) => AnswerHead | undefined } => {
  const held = Buffer.allocUnsafe(MOST_BYTES)
  let [begin, length, scanned] = [0, 0, 0]
  return {
    read: (bytes) => {
      const isTooLong = length + bytes.byteLength > MOST_BYTES
      held.set(bytes.subarray(0, MOST_BYTES - length), length)
      length = Math.min(MOST_BYTES, length + bytes.byteLength)
      for (; scanned < length; scanned++) {
        if (!endsHead(held, scanned)) continue
        const head = headIn(held.toString('latin1', begin, scanned + 1))
        if (head.status >= 200 || head.status === 101) return head
        begin = scanned + 1
      }
      if (isTooLong) throw fault('HEAD_TOO_LONG', `The head of the answer has more than ${MOST_BYTES} bytes.`)
      return undefined
    },
  }
}

/** True at the last byte of an empty line. Lines may end without CR (RFC 9112, 2.2). */
const endsHead = (bytes: Buffer, at: number): boolean =>
  bytes[at] === LF && (bytes[at - 1] === LF || (bytes[at - 1] === CR && bytes[at - 2] === LF))

const headIn = (text: string): AnswerHead => {
  const status = /^HTTP\/1\.\d (\d{3})\b/.exec(text)?.[1]
  if (status === undefined) throw fault('NOT_HTTP', 'The answer is not HTTP/1.1.')
  const line = text.split('\n').find((each) => each.slice(0, RETRY_AFTER.length).toLowerCase() === RETRY_AFTER)
  const retryAfter = line?.slice(RETRY_AFTER.length, RETRY_AFTER.length + RETRY_AFTER_LENGTH).trim()
  return { status: Number(status), retryAfter }
}

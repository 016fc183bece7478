import type { BodiesInHand } from './bodies-in-hand.ts'

/** Smaller answers fit into the buffers of a connection. */
const LARGE_CHARACTERS = 64 * 1024
const CHUNK_BYTES = 64 * 1024
/** Cuts off slower clients. */
const WRITTEN_WITHIN_MS = 60_000

type JsonAnswerOptions = { workspaceId: string; status: number; headers?: Readonly<Record<string, string>> }

/** An answer of JSON text. A large answer counts as in hand until it is written. */
export const jsonAnswer = (
  bodies: Pick<BodiesInHand, 'takeAnswer'>,
  text: string,
  { workspaceId, status, headers = {} }: JsonAnswerOptions,
): Response => {
  const type = { 'Content-Type': 'application/json;charset=utf-8' }
  if (text.length <= LARGE_CHARACTERS) return new Response(text, { status, headers: { ...type, ...headers } })
  const bytes = new TextEncoder().encode(text)
  const written = bodies.takeAnswer({ workspaceId, bytes: bytes.byteLength })
  const length = { 'Content-Length': String(bytes.byteLength) }
  return new Response(inChunks(bytes, written), { status, headers: { ...type, ...length, ...headers } })
}

/**
 * Sends the bytes as the client reads them. Calls `ended` once: after the last byte, or when the
 * client is gone or too slow.
 */
const inChunks = (bytes: Uint8Array<ArrayBuffer>, ended: () => void): ReadableStream => {
  let at = 0
  let late: ReturnType<typeof setTimeout> | undefined
  const end = (): void => {
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
      pull: (controller) => {
        controller.enqueue(bytes.subarray(at, at + CHUNK_BYTES))
        at += CHUNK_BYTES
        if (at < bytes.byteLength) return
        controller.close()
        end()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

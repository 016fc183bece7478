import { Buffer } from 'node:buffer'
import type { BodiesInHand } from './bodies-in-hand.ts'
import { chunksOfText, inChunks } from './in-chunks.ts'

/** Smaller answers fit into the buffers of a connection. */
export const LARGE_BYTES = 64 * 1024

type JsonAnswerOptions = { workspaceId: string; status: number; headers?: Readonly<Record<string, string>> }

/** An answer of JSON text. A large answer counts as in hand until it is written. */
export const jsonAnswer = (
  { takeAnswer }: Pick<BodiesInHand, 'takeAnswer'>,
  text: string,
  { workspaceId, status, headers = {} }: JsonAnswerOptions,
): Response => {
  const type = { 'Content-Type': 'application/json;charset=utf-8' }
  const bytes = Buffer.byteLength(text)
  if (bytes <= LARGE_BYTES) return new Response(text, { status, headers: { ...type, ...headers } })
  const body = inChunks(chunksOfText(text), takeAnswer({ workspaceId, bytes }))
  return new Response(body, { status, headers: { ...type, 'Content-Length': String(bytes), ...headers } })
}

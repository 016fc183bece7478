import { Buffer } from 'node:buffer'
import type { BodiesInHand } from './bodies-in-hand.ts'
import { chunksOfTexts, inChunks } from './in-chunks.ts'

/** Smaller answers fit into the buffers of a connection. */
export const LARGE_BYTES = 64 * 1024

/**
 * JSON text, whole or in parts. A text that is put together from parts of megabytes would be copied
 * before it is written.
 */
export type JsonText = string | readonly string[]

type JsonAnswerOptions = { workspaceId: string; status: number; headers?: Readonly<Record<string, string>> }

/** An answer of JSON text. A large answer counts as in hand until it is written. */
export const jsonAnswer = (
  { takeAnswer }: Pick<BodiesInHand, 'takeAnswer'>,
  json: JsonText,
  { workspaceId, status, headers = {} }: JsonAnswerOptions,
): Response => {
  const type = { 'Content-Type': 'application/json;charset=utf-8' }
  const texts = [json].flat()
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (bytes <= LARGE_BYTES) return new Response(texts.join(''), { status, headers: { ...type, ...headers } })
  const body = inChunks(chunksOfTexts(texts), takeAnswer({ workspaceId, bytes }))
  return new Response(body, { status, headers: { ...type, 'Content-Length': String(bytes), ...headers } })
}

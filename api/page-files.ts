import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { chunksOfBytes, inChunks } from './http/in-chunks.ts'
import { LARGE_BYTES } from './http/json-answer.ts'
import { refusalResponse } from './http/refusal.ts'
import { FairSemaphore } from '../runtime/fair-semaphore.ts'

/**
 * The policy of all pages but the board's. It allows nothing inline and nothing from another host.
 * Only images may be data, for icons. Scripts call only this service, also when a reader tries a
 * request in Swagger UI.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

type FileHeaders = Readonly<Record<string, string>>
type FileContent = string | Uint8Array<ArrayBuffer>

/** The answer with a file of a page. The extension of the name gives the type. */
export const pageFile = (name: string, content: FileContent, headers: FileHeaders = {}): Response =>
  sendFile({ name, content, headers, ended: () => {} })

type SentFile = { name: string; content: FileContent; headers: FileHeaders; ended: () => void }

/** Calls `ended` when a large file is written. */
const sendFile = ({ name, content, headers, ended }: SentFile): Response => {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const isLarge = bytes.byteLength > LARGE_BYTES
  return new Response(isLarge ? inChunks(chunksOfBytes(bytes), ended) : bytes, {
    headers: {
      'Content-Security-Policy': POLICY,
      'Content-Type': CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
      'Content-Length': String(bytes.byteLength),
      ...headers,
    },
  })
}

/** The files that were asked for. All answers share their bytes. */
const files = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()

/** A file of the disk, which does not change while the process runs. */
export const readFileOnce = (path: string): Promise<Uint8Array<ArrayBuffer>> => {
  const known = files.get(path) ?? readFile(path)
  files.set(path, known)
  known.catch(() => files.delete(path))
  return known
}

/** The answer with a file from the disk. */
export const readPageFile = async (path: string, headers?: FileHeaders): Promise<Response> =>
  pageFile(path, await readFileOnce(path), headers)

/** So many large files are on their way from a process to clients without a token. */
const MOST_OPEN_FILES = 20
const PATIENCE_MS = 5_000

export type SendOpenFile = (name: string, content: FileContent, headers: FileHeaders) => Promise<Response>

/**
 * Answers clients without a token with files of pages. While too many large files are on their way,
 * a further one waits, and gets a 503 after a while.
 */
export const createOpenFiles = (patienceMs: number = PATIENCE_MS): SendOpenFile => {
  const places = new FairSemaphore(MOST_OPEN_FILES)
  return async (name, content, headers) => {
    if (content.length <= LARGE_BYTES) return pageFile(name, content, headers)
    const { promise: answer, resolve } = Promise.withResolvers<Response>()
    const send = () =>
      new Promise<true>((written) => resolve(sendFile({ name, content, headers, ended: () => written(true) })))
    // The semaphore shares its permits between names. Here, each request counts for itself.
    const demand = { workspaceId: randomUUID(), permits: 1 }
    void places.tryRun(demand, send, patienceMs).then((isSent) => {
      if (!isSent) resolve(refusalResponse({ refused: 'unavailable', why: 'files-at-once' }))
    })
    return answer
  }
}

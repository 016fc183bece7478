import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { chunksOfBytes, inChunks } from './http/in-chunks.ts'
import { LARGE_BYTES } from './http/json-answer.ts'
import { refusalResponse } from './http/refusal.ts'

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

/**
 * The answer with a file of a page. The extension of the name gives the type. Calls `ended` when a
 * large file is written, and at once for a small one.
 */
export const pageFile = (
  name: string,
  content: FileContent,
  headers: FileHeaders = {},
  ended: () => void = () => {},
): Response => {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const isLarge = bytes.byteLength > LARGE_BYTES
  if (!isLarge) ended()
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

/** Clients without a token can have so many large files on their way from a process at a time. */
const MOST_OPEN_FILES = 100

export type SendOpenFile = (name: string, content: FileContent, headers: FileHeaders) => Response

/** Answers clients without a token with files of pages. Refuses when too many are on their way. */
export const createOpenFiles = (most = MOST_OPEN_FILES): SendOpenFile => {
  let onTheirWay = 0
  return (name, content, headers) => {
    if (onTheirWay >= most) return refusalResponse({ refused: 'unavailable', why: 'files-at-once' })
    onTheirWay++
    return pageFile(name, content, headers, () => onTheirWay--)
  }
}

import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'

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

/** The answer with a file of a page. The extension of the name gives the type. */
export const pageFile = (
  name: string,
  content: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  new Response(content, {
    headers: {
      'Content-Security-Policy': POLICY,
      'Content-Type': CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
      ...headers,
    },
  })

/** The answer with a file from the disk. */
export const readPageFile = async (path: string, headers?: Readonly<Record<string, string>>): Promise<Response> =>
  pageFile(path, await readFile(path), headers)

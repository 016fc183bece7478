import { Buffer } from 'node:buffer'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { MAX_BATCH_BODY_BYTES, MAX_BATCH_ITEMS } from '../../contract/limits.ts'
import { appWithoutStores } from './app-without-stores.ts'
import { DEAR_INTAKES, maxBytesOf } from './dear-intakes.ts'
import { PATHS } from '../end-to-end/interface-table.ts'

/**
 * A request whose answer may be large for its bytes. `plainBytes`: the size of its body before
 * compression, or of its path if it has no body.
 */
export type DearRequest = { title: string; path: string; scope: Scope; body: Buffer | undefined; plainBytes: number }
type Scope = 'submit' | 'read' | 'admin'

/** The fixed parts of a body of each family fit into this size. */
const LEAST_BYTES = 512
/** More than the text of a batch around one body. */
const ITEM_FRAME_BYTES = 60
const MOST_QUERY_BYTES = 15_000

const requestOf = (title: string, path: string, text: string): DearRequest => ({
  title,
  path,
  scope: path === '/mcp' ? 'read' : path.endsWith(PATHS.purge_contact) ? 'admin' : 'submit',
  body: gzipSync(text),
  plainBytes: Buffer.byteLength(text),
})

/** A fraction of the largest size. Most are small, since small requests cost less time. */
const fractions = fc.integer({ min: 0, max: 12 }).map((halvings) => 2 ** -halvings)

const submissions = fc
  .tuple(fc.constantFrom(...DEAR_INTAKES), fractions)
  .map(([{ title, operation, text }, fraction]) => {
    const path = `/api/v1${PATHS[operation as keyof typeof PATHS]}`
    return requestOf(
      `POST ${path}: ${title}`,
      path,
      text(Math.max(Math.ceil(fraction * maxBytesOf(operation)), LEAST_BYTES)),
    )
  })

const batches = fc
  .tuple(fc.constantFrom(...DEAR_INTAKES), fractions, fc.integer({ min: 1, max: MAX_BATCH_ITEMS }))
  .map(([{ title, operation, text }, fraction, count]) => {
    const itemBytes = Math.ceil((fraction * MAX_BATCH_BODY_BYTES) / count)
    const bytes = Math.min(maxBytesOf(operation), itemBytes - ITEM_FRAME_BYTES)
    const item = `{"operation":"${operation}","body":${text(Math.max(bytes, LEAST_BYTES))}}`
    return requestOf(
      `POST /batch of ${count}: ${title}`,
      '/api/v1/batch',
      `{"items":[${Array.from({ length: count }, () => item).join()}]}`,
    )
  })

const LISTS = ['feedbacks', 'customers', 'accounts', 'projects', 'feedback-categories', 'conversations', 'changes']
const PARAMETERS = [
  (at: number) => `a${at}=1`,
  () => 'tag=x',
  () => 'limit=x',
  () => `${'%F0%9F%98%80'.repeat(20)}=`,
  () => '&',
]
const reads = fc
  .tuple(fc.constantFrom(...LISTS), fc.constantFrom(...PARAMETERS), fractions)
  .map(([list, parameter, fraction]): DearRequest => {
    // The longest parameter, and the `&` after it.
    const parameterBytes = parameter(9_999).length + 1
    const count = Math.ceil((fraction * MOST_QUERY_BYTES) / parameterBytes)
    const query = Array.from({ length: count }, (_, at) => parameter(at)).join('&')
    const path = `/api/v1/${list}?${query}`
    return { title: `GET /${list}, ${parameter(0)}`, path, scope: 'read', body: undefined, plainBytes: path.length }
  })

const CALLS = ['initialize', 'tools/list', 'prompts/list', 'resources/templates/list', 'tools/call', 'nothing']
const agents = fc
  .tuple(fc.constantFrom(...CALLS), fractions, fc.constantFrom('k', '😀'))
  .map(([method, fraction, key]): DearRequest => {
    const given = Object.fromEntries(
      Array.from({ length: Math.ceil(fraction * 200) }, (_, at) => [key.repeat(20) + at, 0]),
    )
    const params = { name: 'list_feedback', arguments: given }
    return requestOf(`POST /mcp: ${method}`, '/mcp', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  })

export const dearRequests: fc.Arbitrary<DearRequest> = fc.oneof(submissions, batches, reads, agents)

export const headersOf = ({ body }: DearRequest, token: string): Record<string, string> => ({
  Authorization: `Bearer ${token}`,
  Accept: 'application/json, text/event-stream',
  ...(body && { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }),
})

const app = appWithoutStores()

/** The size of the answer, and this size for each byte of the path and the compressed body. */
export const priceOfAnswer = async (request: DearRequest): Promise<{ bytes: number; perByte: number }> => {
  const { path, scope, body } = request
  const sent = body && { method: 'POST', body: new Uint8Array(body) }
  // In this app, the token is the name of its scope.
  const headers = headersOf(request, scope)
  const answer = await app.handle(new Request(`http://x${path}`, { ...sent, headers }))
  const bytes = (await answer.arrayBuffer()).byteLength
  return { bytes, perByte: bytes / (path.length + (body?.byteLength ?? 0)) }
}

import { Buffer } from 'node:buffer'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type {
  AppControllerRoute,
  AppViewRoute,
  BullBoardQueues,
  BullBoardRequest,
  IServerAdapter,
  UIConfig,
} from '@bull-board/api/typings/app'

type BoardQueue = ConstructorParameters<typeof BullMQAdapter>[0]

export type BoardOptions = {
  readonly queues: readonly BoardQueue[]
  /** Where the board is mounted: a path without a trailing slash, such as `/admin/queues`. */
  readonly basePath: string
  /** True unless said otherwise: nothing can be changed through the board. */
  readonly readOnly?: boolean
  /** True when a proxy in front sets X-Forwarded-Host and X-Forwarded-Proto itself, whatever a client sent. */
  readonly trustProxy?: boolean
  /** Told of each fault behind a 500, since the answer itself keeps silent about it. */
  readonly onFault?: (error: unknown, request: Request) => void
}

/** What Bull Board hands its server adapter, once, while the board is created. */
type Parts = {
  readonly queues: BullBoardQueues
  readonly uiConfig: UIConfig
  readonly routes: readonly AppControllerRoute[]
  readonly entry: AppViewRoute
  readonly template: string
  readonly files: ReadonlyMap<string, string>
}

type Board = Parts & {
  readonly basePath: string
  readonly readOnly: boolean
  readonly trustProxy: boolean
}

type Visit = {
  readonly request: Request
  readonly url: URL
  /** Below the base path. */
  readonly path: string
}

type Refusal = {
  readonly status: 400 | 403 | 404 | 405 | 413 | 415 | 500
  readonly error: string
  readonly allow?: string
}

const MAX_BODY_BYTES = 64 * 1024
const HIDDEN = { hidden: 'payloads are not shown here' }

// A submission that was accepted may only end by being processed, and the board never sees a payload: so what drops
// jobs or writes payloads is refused even where changes are allowed (an edit would store the placeholder above).
const NEVER_OFFERED = /\/(?:add|update-data|clean(?:\/:\w+)?|empty|obliterate|remove|remove-unprocessed-children)$/

const LOSES_WORK: Refusal = { status: 403, error: 'The board neither drops jobs nor writes them' }
const NOT_FOUND: Refusal = { status: 404, error: 'There is no such page' }

const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  // Inline styles are how the loading screen and the charts are drawn; scripts come from files only.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
} as const

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

/**
 * Bull Board as one function from a request to its answer. Who may ask is for the caller to decide beforehand.
 *
 * Job data, return values and the payloads of schedulers are never shown. A refusal is `{"error": string}`; where Bull
 * Board's own operations refuse, `error` is the key of a text that its page has in every language.
 */
export const createBoard = (options: BoardOptions): ((request: Request) => Promise<Response>) => {
  const { basePath, readOnly = true, trustProxy = false } = options
  const board: Board = { ...assemble(options.queues, readOnly), basePath, readOnly, trustProxy }
  return async (request) => {
    try {
      return await answer(board, request)
    } catch (error) {
      // Decoding a malformed percent escape throws this, in the router and in Bull Board's own handlers.
      if (error instanceof URIError) return refuse({ status: 400, error: 'The address is not well-formed' })
      options.onFault?.(error, request)
      return refuse({ status: 500, error: 'The queues cannot be shown at the moment' })
    }
  }
}

const assemble = (queues: readonly BoardQueue[], readOnly: boolean): Parts => {
  const handed: Partial<Parts> = {}
  const keep = (part: Partial<Parts>): IServerAdapter => {
    Object.assign(handed, part)
    return adapter
  }
  const adapter: IServerAdapter = {
    setQueues: (found) => keep({ queues: found }),
    setViewsPath: (folder) => keep({ template: readTemplate(folder) }),
    setStaticPath: (route, folder) => keep({ files: listFiles(route, folder) }),
    setEntryRoute: (entry) => keep({ entry }),
    setApiRoutes: (routes) => keep({ routes }),
    setUIConfig: (uiConfig) => keep({ uiConfig }),
    // Its own handler puts the message of the error into the answer.
    setErrorHandler: () => adapter,
  }
  createBullBoard({
    queues: queues.map((queue) => withoutPayloads(queue, readOnly)),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Queues', hideDocsLink: true } },
  })
  if (!isComplete(handed)) throw new Error('Bull Board did not hand over all of its parts')
  return handed
}

const isComplete = (handed: Partial<Parts>): handed is Parts => {
  const parts = ['queues', 'uiConfig', 'routes', 'entry', 'template', 'files'] as const satisfies (keyof Parts)[]
  return parts.every((part) => handed[part] !== undefined)
}

class PayloadFreeAdapter extends BullMQAdapter {
  // Formatters do not reach the template that a scheduler makes its jobs from.
  override async getJobSchedulers(): ReturnType<BullMQAdapter['getJobSchedulers']> {
    const schedulers = await super.getJobSchedulers()
    return schedulers.map(({ template, ...scheduler }) =>
      template ? { ...scheduler, template: { ...template, data: HIDDEN } } : scheduler,
    )
  }
}

const withoutPayloads = (queue: BoardQueue, readOnly: boolean): BullMQAdapter => {
  const adapter = new PayloadFreeAdapter(queue, { readOnlyMode: readOnly })
  adapter.setFormatter('data', () => HIDDEN)
  adapter.setFormatter('returnValue', (value: unknown) => (value == null ? value : HIDDEN))
  return adapter
}

const readTemplate = (folder: string): string => {
  // The page has to work without the internet, and should not tell a third party that it is open.
  return readFileSync(join(folder, 'index.ejs'), 'utf8').replaceAll(/<link\b[^>]*\bhref="(?:https?:)?\/\/[^>]*>/gi, '')
}

/** Every file by the path it is served under. What is not in this map does not exist, whatever a path is made of. */
const listFiles = (route: string, folder: string): ReadonlyMap<string, string> => {
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [route + file.slice(folder.length).split(sep).join('/'), file]),
  )
}

const answer = async (board: Board, request: Request): Promise<Response> => {
  const url = new URL(request.url)
  const { basePath, readOnly } = board
  if (url.pathname !== basePath && !url.pathname.startsWith(`${basePath}/`)) return refuse(NOT_FOUND)
  const visit = { request, url, path: url.pathname.slice(basePath.length) || '/' }

  if (request.method === 'GET' || request.method === 'HEAD') {
    const response = await show(board, visit)
    return request.method === 'HEAD' ? new Response(null, response) : response
  }
  if (!isSameOrigin(visit, board.trustProxy))
    return refuse({ status: 403, error: 'Only pages of this origin may ask for this' })
  if (readOnly) return refuse({ status: 405, error: 'The board is read-only', allow: 'GET, HEAD' })
  return call(board, visit)
}

const show = async (board: Board, visit: Visit): Promise<Response> => {
  const file = board.files.get(visit.path)
  if (file !== undefined) return sendFile(file)
  const isPage = [board.entry.route].flat().some((pattern) => matchPath(pattern, visit.path))
  return isPage ? sendPage(board) : call(board, visit)
}

const sendFile = async (file: string): Promise<Response> => {
  // A name with a hash in it never gets other content; the rest may change with the next version.
  const lifetime = /\.[0-9a-f]{10}\.(?:css|js)$/.test(file) ? 'max-age=31536000, immutable' : 'max-age=3600'
  return new Response(await readFile(file), {
    headers: {
      ...SECURITY_HEADERS,
      'Content-Type': CONTENT_TYPES[extname(file)] ?? 'application/octet-stream',
      'Cache-Control': `private, ${lifetime}`,
    },
  })
}

const sendPage = ({ entry, template, basePath, uiConfig }: Board): Response => {
  const { params } = entry.handler({ basePath, uiConfig })
  // `<%-` writes a value as it is and `<%=` escapes it; nothing else of EJS occurs in the template.
  const page = template.replaceAll(/<%([-=])\s*(\w+)\s*%>/g, (_whole, mark: string, name: string) => {
    const value = params[name] ?? ''
    return mark === '-' ? value : escapeHtml(value)
  })
  return new Response(page, {
    headers: { ...SECURITY_HEADERS, 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
  })
}

const escapeHtml = (text: string): string => {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * A browser sends cached Basic credentials along with another site's form, so credentials alone do not show that the
 * operator meant it. Behind a proxy that ends TLS, the scheme of the page is known only if the proxy says so, and may be
 * trusted; otherwise it is left out.
 */
const isSameOrigin = ({ request: { headers }, url }: Visit, trustProxy: boolean): boolean => {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  if (origin === null || !URL.canParse(origin)) return false
  const forwarded = (name: string): string | undefined =>
    trustProxy ? headers.get(name)?.split(',')[0]?.trim().toLowerCase() : undefined
  const { host, protocol } = new URL(origin)
  const scheme = forwarded('x-forwarded-proto')
  return host === (forwarded('x-forwarded-host') ?? url.host) && (scheme === undefined || protocol === `${scheme}:`)
}

const call = async (board: Board, { request, url, path }: Visit): Promise<Response> => {
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
  const matches = board.routes.flatMap((route) => {
    const params = [route.route].flat().map((pattern) => matchPath(pattern, path))
    const found = params.find((candidate) => candidate !== undefined)
    return found ? [{ route, params: found }] : []
  })
  const match = matches.find(({ route }) => [route.method].flat().some((name) => name === method))
  if (!match) return refuse(matches.length === 0 ? NOT_FOUND : wrongMethod(matches.map(({ route }) => route)))
  if ([match.route.route].flat().some((pattern) => NEVER_OFFERED.test(pattern))) return refuse(LOSES_WORK)

  const body = await readBody(request)
  if ('status' in body) return refuse(body)
  const result = await match.route.handler({
    queues: board.queues,
    uiConfig: board.uiConfig,
    query: Object.fromEntries(url.searchParams),
    params: match.params,
    body: body.value,
    headers: Object.fromEntries(request.headers),
  } satisfies BullBoardRequest)
  return sendJson(result.status ?? 200, result.body)
}

const wrongMethod = (routes: readonly AppControllerRoute[]): Refusal => {
  const methods = new Set(routes.flatMap((route) => route.method).map((method) => method.toUpperCase()))
  if (methods.has('GET')) methods.add('HEAD')
  return { status: 405, error: 'This cannot be done here', allow: [...methods].join(', ') }
}

/** The parameters of a path that has the form of `/queue/:queueName`, or undefined if it has another form. */
const matchPath = (pattern: string, path: string): Record<string, string> | undefined => {
  const expected = pattern.split('/')
  const given = path.split('/')
  const fits = expected.every((part, index) => (part.startsWith(':') ? given[index] : part === given[index]))
  if (!fits || expected.length !== given.length) return undefined
  const named = expected.map((part, index) => [part, given[index] ?? ''] as const).filter(([part]) => part[0] === ':')
  return Object.fromEntries(named.map(([part, segment]) => [part.slice(1), decodeURIComponent(segment)]))
}

const readBody = async (request: Request): Promise<{ readonly value: Record<string, unknown> } | Refusal> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > MAX_BODY_BYTES) return { status: 413, error: 'The body is too large' }
    chunks.push(chunk)
  }
  if (size === 0) return { value: {} }
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? '')) {
    return { status: 415, error: 'The body has to be JSON' }
  }
  const value = parseObject(Buffer.concat(chunks).toString('utf8'))
  return value ? { value } : { status: 400, error: 'The body has to be a JSON object' }
}

const parseObject = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const refuse = ({ status, error, allow }: Refusal): Response => {
  const response = sendJson(status, { error })
  if (allow !== undefined) response.headers.set('Allow', allow)
  return response
}

const sendJson = (status: number, body: unknown): Response => {
  const headers = { ...SECURITY_HEADERS, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  return new Response(status === 204 ? null : JSON.stringify(body), { status, headers })
}

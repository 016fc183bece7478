import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
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
import { pageFile, readPageFile } from '../page-files.ts'
import { refusalResponse } from '../http/refusal.ts'
import type { Handler } from '../serve.ts'
import { FIRST_SCRIPT, readTemplate, wayTo, withScriptAndLink } from './board-page.ts'

type BoardQueue = ConstructorParameters<typeof BullMQAdapter>[0]

type BoardOptions = {
  queues: readonly BoardQueue[]
  /** The path of the board, without a trailing slash, such as `/admin/queues`. */
  basePath: string
  /** The target of the link back to the overview. */
  overviewPath: string
  /** Receives a fault of a request. The answer is a 500 that does not name the fault. */
  onFault: (error: unknown, request: Request) => void
}

/** The parts that Bull Board hands to its server adapter, once, at the creation of the board. */
type BoardParts = {
  queues: BullBoardQueues
  uiConfig: UIConfig
  routes: readonly AppControllerRoute[]
  entry: AppViewRoute
  template: string
  files: ReadonlyMap<string, string>
}

type Board = BoardParts & { basePath: string }

/** Allows inline styles: Bull Board draws its loading screen and charts with them. */
const POLICY =
  "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

/**
 * Bull Board as one function from a request to its answer. The caller checks the permission. The
 * board changes nothing: it takes GET and HEAD only.
 *
 * It shows whole jobs: they have ids and counts, and no submitted content. A refusal is
 * `{"error": string}`. In a refusal of Bull Board itself, `error` is the key of a text that its
 * page translates.
 */
export const createBoard = ({ queues, basePath, overviewPath, onFault }: BoardOptions): Handler => {
  const parts = assemble(queues)
  const board: Board = { ...parts, template: withScriptAndLink(parts.template, { basePath, overviewPath }), basePath }
  return async (request) => {
    const response = await answer(board, request).catch((error: unknown) => {
      // The router and Bull Board's own operations throw this when they decode a malformed percent
      // escape.
      if (error instanceof URIError)
        return Response.json({ error: 'The address has a malformed percent escape.' }, { status: 400 })
      onFault(error, request)
      return Response.json(
        { error: 'The queues cannot be shown at the moment. Check with npm run doctor whether Redis answers.' },
        { status: 500 },
      )
    })
    response.headers.set('Content-Security-Policy', POLICY)
    return response
  }
}

const assemble = (queues: readonly BoardQueue[]): BoardParts => {
  const handed: Partial<BoardParts> = {}
  const keep = (part: Partial<BoardParts>): IServerAdapter => {
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
    // Bull Board's own handler puts the message of the error into the answer.
    setErrorHandler: () => adapter,
  }
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: adapter,
    options: {
      uiConfig: {
        boardTitle: 'Queues',
        hideDocsLink: true,
      },
    },
  })
  if (!isComplete(handed)) throw new Error('Bull Board did not hand over all of its parts')
  return handed
}

const isComplete = (handed: Partial<BoardParts>): handed is BoardParts => {
  const parts = ['queues', 'uiConfig', 'routes', 'entry', 'template', 'files'] as const satisfies (keyof BoardParts)[]
  return parts.every((part) => handed[part] !== undefined)
}

/** The files by the path at which they are served. No other file is served. */
const listFiles = (route: string, folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [route + file.slice(folder.length).split(sep).join('/'), file]),
  )

const answer = async (board: Board, request: Request): Promise<Response> => {
  const url = new URL(request.url)
  const { basePath } = board
  if (url.pathname !== basePath && !url.pathname.startsWith(`${basePath}/`)) return notFound()
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refusalResponse({ refused: 'wrong-method', allow: 'GET, HEAD' })
  }
  const response = await show(board, request, url)
  return request.method === 'HEAD' ? new Response(null, response) : response
}

const notFound = (): Response => refusalResponse({ refused: 'not-found' })

const show = async (board: Board, request: Request, url: URL): Promise<Response> => {
  const path = url.pathname.slice(board.basePath.length) || '/'
  const file = board.files.get(path)
  if (file !== undefined) return sendFile(file)
  if (path === `/${FIRST_SCRIPT.name}`) {
    return pageFile(FIRST_SCRIPT.name, FIRST_SCRIPT.text)
  }
  const isPage = [board.entry.route].flat().some((pattern) => matchPath(pattern, path))
  return isPage ? sendPage(board, url.pathname) : callOperation(board, { request, url, path })
}

const sendFile = (file: string): Promise<Response> => {
  // A file with a hash in its name never changes; other files may change with the next version.
  const lifetime = /\.[0-9a-f]{10}\.(?:css|js)$/.test(file) ? 'max-age=31536000, immutable' : 'max-age=3600'
  return readPageFile(file, { 'Cache-Control': `private, ${lifetime}` })
}

const sendPage = ({ entry, template, basePath, uiConfig }: Board, pathname: string): Response => {
  const { params } = entry.handler({ basePath: wayTo(basePath, pathname), uiConfig })
  // `<%-` writes a value unescaped, and `<%=` escapes it. The template uses no other syntax of EJS.
  const page = template.replaceAll(/<%([-=])\s*(\w+)\s*%>/g, (_whole, mark: string, name: string) => {
    const value = params[name] ?? ''
    return mark === '-' ? value : escapeHtml(value)
  })
  return pageFile('page.html', page)
}

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

type BoardCall = { request: Request; url: URL; path: string }

/** The answer of Bull Board's operation for `path`; 404 if there is none. */
const callOperation = async (board: Board, { request, url, path }: BoardCall): Promise<Response> => {
  for (const route of board.routes) {
    if (![route.method].flat().includes('get')) continue
    const params = [route.route]
      .flat()
      .map((pattern) => matchPath(pattern, path))
      .find((found) => found !== undefined)
    if (params === undefined) continue
    const { status = 200, body } = await route.handler({
      queues: board.queues,
      uiConfig: board.uiConfig,
      query: Object.fromEntries(url.searchParams),
      params,
      body: {},
      headers: Object.fromEntries(request.headers),
    } satisfies BullBoardRequest)
    return Response.json(body, { status })
  }
  return notFound()
}

/**
 * The parameters of a path by a pattern such as `/queue/:queueName`; undefined for other paths.
 */
const matchPath = (pattern: string, path: string): Record<string, string> | undefined => {
  const expected = pattern.split('/')
  const given = path.split('/')
  const fits = expected.every((part, index) => (part.startsWith(':') ? given[index] : part === given[index]))
  if (!fits || expected.length !== given.length) return undefined
  const named = expected.map((part, index) => [part, given[index] ?? ''] as const).filter(([part]) => part[0] === ':')
  return Object.fromEntries(named.map(([part, segment]) => [part.slice(1), decodeURIComponent(segment)]))
}

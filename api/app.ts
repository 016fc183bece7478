import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import type { Logger } from '../runtime/logger.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { checkedToken } from './authenticate.ts'
import type { OpenedCapability } from './capability.ts'
import { forOrigins } from './http/cors.ts'
import { createDocs } from './openapi/docs.ts'
import { openApiPage } from './openapi/openapi.ts'
import { BATCH_KINDS } from './operations/batch-kinds.ts'
import { SUBMISSION_ROUTES } from './operations/submission-routes.ts'
import type { Metrics } from './operators/metrics.ts'
import { operatorOnly } from './operators/operator-only.ts'
import { READ_ROUTES } from './reads/read-routes.ts'
import { answerRead, type ReadDependencies } from './reads/reads.ts'
import { putSource, type SourceDependencies } from './reads/sources.ts'
import { readReceipt, type ReceiptSources } from './receipts.ts'
import { type Refusal, refusalResponse } from './http/refusal.ts'
import type { Arrival } from './http/arrival.ts'
import { isHostValid, INVALID_HOST } from './http/request-host.ts'
import { answerAnyMethod } from './http/any-method.ts'
import { requestIdOf } from './http/request-id.ts'
import type { Handler } from './serve.ts'
import { createOpenFiles } from './page-files.ts'
import { answerStartPage } from './start-page.ts'
import type { IntakeDependencies } from './submit/intake.ts'
import { submit } from './submit/submit.ts'
import { submitBatch } from './submit/submit-batch.ts'
import { spanOf, traceRequests } from './trace-requests.ts'

export const BASE_PATH = '/api/v1'
export const OVERVIEW_PATH = '/admin'
export const BOARD_PATH = '/admin/queues'
const DOCUMENT_PATH = '/openapi.json'
const DOCS_PATH = '/docs'
const ADDRESSES = {
  api: BASE_PATH,
  reference: DOCS_PATH,
  openapi: DOCUMENT_PATH,
  health: '/healthz',
  readiness: '/readyz',
}

export type AppDependencies = {
  intake: IntakeDependencies
  receipts: ReceiptSources
  reads: ReadDependencies
  setSource: SourceDependencies['setSource']
  capabilities: readonly OpenedCapability[]
  /** Whether the runtime reads the trailer fields of a chunked body. */
  readsTrailers: boolean
  /** Whether Redis and Postgres answer and the process takes requests. */
  isReady: () => Promise<boolean>
  board: Handler
  overview: Handler
  /** Origins whose pages may use the paths below the base path. */
  corsOrigins: readonly string[]
  metrics: Handler
  answered: Metrics['answered']
  /** Nothing is traced without it. */
  tracing?: Tracing | undefined
  log: Logger
}

const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

/**
 * The whole service behind HTTP. Every answer carries the id of its request. Every error is JSON,
 * also an unforeseen one.
 */
export const createApp = (dependencies: AppDependencies): { handle: Handler } => {
  const { tracing, corsOrigins, log, readsTrailers } = dependencies
  const routes = createRoutes(dependencies)
  refuseOtherMethods(routes)
  const open = forOrigins({ origins: corsOrigins, basePath: BASE_PATH }, (request) => routes.handle(request))
  const answer = tracing === undefined ? open : traceRequests(tracing, tracedPaths(dependencies), open)
  return {
    handle: async (request) => {
      let response: Response
      try {
        // No await may come before this: the refusal has to leave before the runtime reads the
        // trailer.
        const refused = refusedHead(request, readsTrailers)
        response = refused ? refusalResponse(refused) : await answerAnyMethod(request, answer)
      } catch (error) {
        log('error', 'unforeseen', { requestId: requestIdOf(request), fault: nameOf(error) })
        response = refusalResponse({ refused: 'unforeseen', requestId: requestIdOf(request) })
      }
      response.headers.set('X-Request-Id', requestIdOf(request))
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
        if (!response.headers.has(name)) response.headers.set(name, value)
      }
      return response
    },
  }
}

const tracedPaths = ({ capabilities }: AppDependencies): string[] => [
  `${BASE_PATH}/`,
  ...capabilities.flatMap(({ isTraced, routes }) => (isTraced === true ? routes.map(({ path }) => path) : [])),
]

const refusedHead = (request: Request, readsTrailers: boolean): Refusal | undefined => {
  if (!isHostValid(request)) return INVALID_HOST
  return !readsTrailers && request.headers.has('trailer') ? NO_TRAILER : undefined
}

const NO_TRAILER: Refusal = {
  refused: 'invalid',
  problems: [{ message: 'A body with trailer fields cannot be read here: send it without them', path: 'Trailer' }],
}

// `http/read-body.ts` reads the bodies instead: it has bounds, and the words of the interface.
const UNPARSED = { parse: 'none' } as const

const createRoutes = (dependencies: AppDependencies) => {
  const { intake, receipts, isReady, board, overview, metrics, tracing, capabilities } = dependencies
  const timed = createTimed(dependencies.answered, tracing)
  const forOperators =
    (page: Handler) =>
    ({ request }: { request: Request }): Promise<Response> =>
      operatorOnly(intake.authenticate, request, page)
  const addresses = { ...ADDRESSES, ...addressesOf(capabilities) }
  const sendFile = createOpenFiles()
  const docs = createDocs({ basePath: DOCS_PATH, documentPath: DOCUMENT_PATH, sendFile })

  return addRecordRoutes(createEmptyApp(), dependencies, timed)
    .post(
      `${BASE_PATH}/batch`,
      timed((arrival) => submitBatch(intake, BATCH_KINDS, arrival)),
      UNPARSED,
    )
    .get(
      `${BASE_PATH}/submissions/:id`,
      timed((arrival, params) => readReceipt(receipts, arrival, params['id'] ?? '')),
    )
    .get('/', ({ request }) => answerStartPage(request, addresses))
    .get('/healthz', () => Response.json({ alive: true }))
    .get('/readyz', async () => readyAnswer(await isReady()))
    .get(DOCUMENT_PATH, openApiPage(BASE_PATH, sendFile))
    .get(DOCS_PATH, ({ request }) => docs(request))
    .get(`${DOCS_PATH}/*`, ({ request }) => docs(request))
    .get('/metrics', forOperators(metrics))
    .get(OVERVIEW_PATH, forOperators(overview))
    .get(`${OVERVIEW_PATH}/:file`, forOperators(overview))
    .all(BOARD_PATH, forOperators(board), UNPARSED)
    .all(`${BOARD_PATH}/*`, forOperators(board), UNPARSED)
}

const addressesOf = (capabilities: readonly OpenedCapability[]): Readonly<Record<string, string>> =>
  Object.fromEntries(capabilities.flatMap(({ address }) => (address ? [[address.name, address.path]] : [])))

/** Adds the routes that submit, read, or change settings, and those of capabilities. */
const addRecordRoutes = (
  app: ReturnType<typeof createEmptyApp>,
  dependencies: AppDependencies,
  timed: ReturnType<typeof createTimed>,
): ReturnType<typeof createEmptyApp> => {
  for (const { method, path, kind } of SUBMISSION_ROUTES) {
    const handle = timed((arrival, { id }) => submit(dependencies.intake, kind, { ...arrival, target: id }))
    app.route(method, `${BASE_PATH}${path}`, handle, UNPARSED)
  }
  const put = timed((arrival, { source = '' }) => putSource(dependencies, arrival, source))
  app.put(`${BASE_PATH}/sources/:source`, put, UNPARSED)
  for (const { method, path, handle } of dependencies.capabilities.flatMap(({ routes }) => routes)) {
    app.route(method, path, timed(handle), UNPARSED)
  }
  for (const { path, handlerFor } of READ_ROUTES) {
    const handle = timed((arrival, params) => answerRead(dependencies.reads, arrival, handlerFor(params)))
    app.get(`${BASE_PATH}${path}`, handle)
  }
  return app
}

type RouteContext = {
  request: Request
  token: string | undefined
  route: string
  /** Undefined at a path without parameters. */
  params: Readonly<Record<string, string>> | undefined
}

const createTimed =
  (answered: Metrics['answered'], tracing: Tracing | undefined) =>
  (handle: (arrival: Arrival, params: Readonly<Record<string, string>>) => Promise<Response>) =>
  // If a handler does not destructure its context, Elysia builds all parts of the context, cookies
  // too, and builds every answer twice.
  async ({ request, token, route, params = {} }: RouteContext): Promise<Response> => {
    const beganAt = performance.now()
    const span = tracing && spanOf(request)
    span?.set({ 'http.route': route })
    let status = 500
    try {
      const response = await handle({ request, token, span }, params)
      status = response.status
      return response
    } finally {
      answered({ method: request.method, route, status, seconds: (performance.now() - beganAt) / MS_PER_SECOND })
    }
  }

const MS_PER_SECOND = 1_000

/** An app without routes. It finds the token, and answers requests without a route. */
const createEmptyApp = () =>
  // By default Elysia looks for the path behind eleven characters, but a host may be shorter.
  new Elysia({ handler: { standardHostname: false } })
    .onError(({ code, error }) => {
      if (code === 'NOT_FOUND') return refusalResponse({ refused: 'not-found' })
      // Elysia would send the message of the fault.
      throw error instanceof Error ? error : new Error('A handler threw no error.', { cause: error })
    })
    .use(bearer())
    .derive({ as: 'global' }, ({ bearer: cut, headers: { authorization = '' } }) => ({
      token: checkedToken(authorization, cut),
    }))

const readyAnswer = (ready: boolean): Response => Response.json({ ready }, { status: ready ? 200 : 503 })

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

/**
 * Answers a wrong method with 405; Elysia would answer 404. The board checks its methods itself.
 */
const refuseOtherMethods = (routes: ReturnType<typeof createRoutes>): void => {
  const paths = Map.groupBy(
    routes.routes.filter(({ method }) => method !== 'ALL'),
    ({ path }) => path,
  )
  for (const [path, own] of paths) {
    const allow = own
      .map(({ method }) => method)
      .toSorted()
      .join(', ')
    routes.all(path, () => refusalResponse({ refused: 'wrong-method', allow }), UNPARSED)
  }
}

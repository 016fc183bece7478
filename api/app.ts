import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import type { GenericSchema } from 'valibot'
import type { accountRecord, contactRecord } from '../contract/contact-record.ts'
import type { conversationRecord } from '../contract/conversation-record.ts'
import type { feedbackRecord } from '../contract/feedback-record.ts'
import type { Operation } from '../contract/job.ts'
import type { Log } from '../process/log.ts'
import type { purgeRequest } from '../contract/purge-request.ts'
import type { Receipt } from '../contract/receipt.ts'
import type { Tracing } from '../process/tracing.ts'
import { identifyAccount } from './accounts.ts'
import { identifyContact, purgeContact } from './contacts.ts'
import { submitConversation } from './conversations.ts'
import { forOrigins } from './cors.ts'
import { createDocs } from './openapi/docs.ts'
import { createFeedback, type Feedback } from './feedbacks.ts'
import { openApiPage } from './openapi/openapi.ts'
import { readReceipt, type ReceiptSources } from './receipts.ts'
import { operatorOnly } from './operators/operator-only.ts'
import { refusalResponse, unforeseenResponse } from './refusal.ts'
import { hasHost, NO_HOST } from './request-host.ts'
import { requestIdOf } from './request-id.ts'
import type { Handler } from './serve.ts'
import { type Grounds, type Incoming, type Ingress, type SubmissionKind, submit } from './submit.ts'
import { spanOf, traceRequests } from './trace-requests.ts'
import { asTyped, bodyAndAnswer, answerAlone, UNPARSED } from './typed-route.ts'

export const BASE_PATH = '/api/v1'
export const OVERVIEW_PATH = '/admin'
export const BOARD_PATH = '/admin/queues'
const DOCUMENT_PATH = '/openapi.json'
const DOCS_PATH = '/docs'

export type AppDependencies = {
  ingress: Ingress
  receipts: ReceiptSources
  /** Whether Redis and Postgres answer and the process takes requests. */
  isReady: () => Promise<boolean>
  board: Handler
  overview: Handler
  /** Whose pages may submit from a browser. */
  corsOrigins: readonly string[]
  metrics: () => Promise<string>
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined
  log: Log
}

// A token in an address would end up in logs, so the name under which the plugin looks for one there cannot be guessed.
const NO_QUERY_TOKEN = crypto.randomUUID()

const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

/** The routes. Opens nothing: every store, clock and page is handed in. */
const createRoutes = ({ ingress, receipts, isReady, board, overview, metrics, tracing, log }: AppDependencies) => {
  const readyAnswer = async (): Promise<Response> => {
    const ready = await isReady()
    return Response.json({ ready }, { status: ready ? 200 : 503 })
  }
  const metricsAnswer = async (request: Request): Promise<Response> => {
    const text = await metrics().catch((error: unknown) =>
      ingress.onFault('metrics_failed', error, { requestId: requestIdOf(request) }),
    )
    if (text === undefined) return refusalResponse({ refused: 'unavailable', why: 'stores' })
    return new Response(text, { headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' } })
  }
  const docs = createDocs({ basePath: DOCS_PATH, documentPath: DOCUMENT_PATH })
  const incoming = (request: Request, token: string | undefined, route: string): Incoming => {
    const span = tracing && spanOf(request)
    span?.set({ 'http.route': route })
    return { request, token, span }
  }
  // They say what they take of a context. Of one that is handed on Elysia makes all that there may be, cookies too, and every answer
  // a second time.
  const submission =
    <O extends Operation, S extends GenericSchema, G extends Grounds>(kind: SubmissionKind<O, S, G>) =>
    ({ request, bearer: token, route }: RouteContext): Promise<never> =>
      asTyped(submit(ingress, kind, incoming(request, token, route)))
  const wrongMethod = (allow: string) => () => refusalResponse({ refused: 'wrong-method', allow })

  return (
    // A host may be as short as it likes: by default the path is looked for behind the first eleven characters.
    new Elysia({ name: 'feedback-insights', normalize: false, handler: { standardHostname: false } })
      .onError(({ code, error, request }) => {
        if (code === 'NOT_FOUND') return refusalResponse({ refused: 'not-found' })
        log('error', 'unforeseen', { requestId: requestIdOf(request), code, fault: nameOf(error) })
        return unforeseenResponse(requestIdOf(request))
      })
      // The scheme is case-insensitive (RFC 9110), the plugin is not.
      .derive({ as: 'global' }, ({ headers }) => {
        const given = headers['authorization']
        if (given) headers['authorization'] = given.replace(/^bearer +/i, 'Bearer ')
      })
      .use(bearer({ extract: { header: 'Bearer', query: NO_QUERY_TOKEN } }))
      .post(
        `${BASE_PATH}/feedbacks`,
        submission(createFeedback),
        bodyAndAnswer<typeof feedbackRecord, 201, { feedback: Feedback }>(),
      )
      .post(
        `${BASE_PATH}/contacts/identify`,
        submission(identifyContact),
        bodyAndAnswer<typeof contactRecord, 201, Success>(),
      )
      .post(`${BASE_PATH}/contacts/purge`, submission(purgeContact), bodyAndAnswer<typeof purgeRequest, 200, Success>())
      .post(
        `${BASE_PATH}/accounts/identify`,
        submission(identifyAccount),
        bodyAndAnswer<typeof accountRecord, 201, Success>(),
      )
      .post(
        `${BASE_PATH}/conversations`,
        submission(submitConversation),
        bodyAndAnswer<typeof conversationRecord, 200, Success>(),
      )
      .get(
        `${BASE_PATH}/submissions/:id`,
        ({ request, bearer: token, route, params }) =>
          asTyped(readReceipt(receipts, incoming(request, token, route), params.id)),
        answerAlone<{ submission: Receipt }>(),
      )
      .get('/healthz', () => Response.json({ alive: true }))
      .get('/readyz', readyAnswer)
      .get(DOCUMENT_PATH, openApiPage(BASE_PATH))
      .get(DOCS_PATH, ({ request }) => docs(request))
      .get(`${DOCS_PATH}/*`, ({ request }) => docs(request))
      .get('/metrics', ({ request }) => operatorOnly(ingress.authenticate, request, metricsAnswer))
      .get(OVERVIEW_PATH, ({ request }) => operatorOnly(ingress.authenticate, request, overview))
      .get(`${OVERVIEW_PATH}/:file`, ({ request }) => operatorOnly(ingress.authenticate, request, overview))
      .all(BOARD_PATH, ({ request }) => operatorOnly(ingress.authenticate, request, board), UNPARSED)
      .all(`${BOARD_PATH}/*`, ({ request }) => operatorOnly(ingress.authenticate, request, board), UNPARSED)
      .all(`${BASE_PATH}/feedbacks`, wrongMethod('POST'), UNPARSED)
      .all(`${BASE_PATH}/contacts/identify`, wrongMethod('POST'), UNPARSED)
      .all(`${BASE_PATH}/contacts/purge`, wrongMethod('POST'), UNPARSED)
      .all(`${BASE_PATH}/accounts/identify`, wrongMethod('POST'), UNPARSED)
      .all(`${BASE_PATH}/conversations`, wrongMethod('POST'), UNPARSED)
      .all(`${BASE_PATH}/submissions/:id`, wrongMethod('GET'), UNPARSED)
      .all('/healthz', wrongMethod('GET'), UNPARSED)
      .all('/readyz', wrongMethod('GET'), UNPARSED)
      .all('/metrics', wrongMethod('GET'), UNPARSED)
      .all(OVERVIEW_PATH, wrongMethod('GET'), UNPARSED)
      .all(`${OVERVIEW_PATH}/:file`, wrongMethod('GET'), UNPARSED)
      .all(DOCUMENT_PATH, wrongMethod('GET'), UNPARSED)
      .all(DOCS_PATH, wrongMethod('GET'), UNPARSED)
      .all(`${DOCS_PATH}/*`, wrongMethod('GET'), UNPARSED)
  )
}

type Success = { success: true }

/** The routes with the types of what they take and answer, for Eden, Elysia's client. */
export type App = ReturnType<typeof createRoutes>

type RouteContext = { request: Request; bearer: string | undefined; route: string }

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

/** The whole service behind HTTP: every answer, foreseen or not, is JSON and carries the request's id. */
export const createApp = (dependencies: AppDependencies): { handle: Handler } => {
  const routes = createRoutes(dependencies)
  const { tracing } = dependencies
  const open = forOrigins({ origins: dependencies.corsOrigins, basePath: BASE_PATH }, (request) =>
    routes.handle(request),
  )
  const answer = tracing === undefined ? open : traceRequests(tracing, BASE_PATH, open)
  return {
    handle: async (request) => {
      let response: Response
      try {
        response = hasHost(request) ? await answer(request) : refusalResponse(NO_HOST)
      } catch (error) {
        dependencies.log('error', 'unforeseen', { requestId: requestIdOf(request), fault: nameOf(error) })
        response = unforeseenResponse(requestIdOf(request))
      }
      response.headers.set('X-Request-Id', requestIdOf(request))
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
        if (!response.headers.has(name)) response.headers.set(name, value)
      }
      return response
    },
  }
}

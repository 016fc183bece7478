import type { Handler } from '../serve.ts'

type CorsOptions = {
  /** Origins whose pages may send requests. An empty list allows no other origin. */
  readonly origins: readonly string[]
  /** Pages of other origins may use only paths below this one. */
  readonly basePath: string
}

/** Request headers of the interface that a browser sends only with permission. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Content-Encoding, Idempotency-Key, Prefer, X-Request-Id, traceparent'
/** Answer headers that a browser hides from scripts without permission. */
const EXPOSED_HEADERS =
  'Submission-Id, Submission-State, Preference-Applied, RateLimit-Policy, RateLimit, Retry-After, X-Request-Id'
const PREFLIGHT_SECONDS = 600

/**
 * Lets pages of these origins use the paths below the base path (CORS). It never allows credentials
 * of the browser: a page sends its token itself.
 */
export const forOrigins = ({ origins, basePath }: CorsOptions, handle: Handler): Handler => {
  if (origins.length === 0) return handle
  const allowed = new Set(origins)
  return async (request) => {
    if (!new URL(request.url).pathname.startsWith(`${basePath}/`)) return handle(request)
    const origin = request.headers.get('origin')
    const isAllowed = origin !== null && allowed.has(origin)
    const response = isAllowed && isPreflight(request) ? preflightAnswer() : await handle(request)
    // Answers to all origins have `Vary`. Otherwise a cache could serve an answer without permission
    // to a page of a permitted origin.
    response.headers.append('Vary', 'Origin')
    if (!isAllowed) return response
    response.headers.set('Access-Control-Allow-Origin', origin)
    response.headers.set('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    return response
  }
}

const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('access-control-request-method')

const preflightAnswer = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
      'Access-Control-Allow-Headers': ALLOWED_HEADERS,
      'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
    },
  })

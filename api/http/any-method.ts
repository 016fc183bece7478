import type { Handler } from '../serve.ts'
import { keepRequestId } from './request-id.ts'

/**
 * Hands a request to the routes: HEAD as GET, whose body is then left out, and a long query in part.
 */
export const answerAnyMethod = async (given: Request, answer: Handler): Promise<Response> => {
  const isHead = given.method === 'HEAD'
  const url = withBoundedQuery(given.url)
  if ((!isHead && url === given.url) || FORBIDDEN.has(given.method)) return answer(given)
  const request = isHead ? new Request(url, { headers: given.headers, signal: given.signal }) : new Request(url, given)
  keepRequestId(given, request)
  const response = await answer(request)
  if (!isHead) return response
  await response.body?.cancel()
  return new Response(null, response)
}

/** A runtime hands over requests with these methods, but no program can make one. No route takes them. */
const FORBIDDEN: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/**
 * More parameters than a valid query has. Elysia parses the query of each request, before a token
 * is checked, and thousands of parameters would take milliseconds. A read refuses
 * the rest of the query, with as many problems as an answer reports.
 */
const MOST_PARAMETERS = 250

const withBoundedQuery = (url: string): string => {
  let end = url.indexOf('?')
  for (let count = 0; end !== -1 && count < MOST_PARAMETERS; count++) end = url.indexOf('&', end + 1)
  return end === -1 ? url : url.slice(0, end)
}

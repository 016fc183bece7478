import { randomUUID } from 'node:crypto'

const SANE = /^[A-Za-z0-9._:-]{1,128}$/

const ids = new WeakMap<Request, string>()

/**
 * The id of a request: the caller's `X-Request-Id` if it is valid, else a new one. Every call for a
 * request gives the same id.
 */
export const requestIdOf = (request: Request): string => {
  const known = ids.get(request)
  if (known !== undefined) return known
  const given = request.headers.get('x-request-id')
  const id = given !== null && SANE.test(given) ? given : randomUUID()
  ids.set(request, id)
  return id
}

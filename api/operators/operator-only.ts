import { Buffer } from 'node:buffer'
import { type Authenticate, bearerToken } from '../authenticate.ts'
import { isRefusal, refusalResponse } from '../http/refusal.ts'
import type { Handler } from '../serve.ts'

/**
 * Answers with `page` if the request has an operator token: as a bearer, or as the password of
 * Basic authentication, which browsers ask for. Other requests get 401, or 503 while tokens cannot
 * be looked up.
 */
export const operatorOnly = async (authenticate: Authenticate, request: Request, page: Handler): Promise<Response> => {
  const holder = await authenticate(tokenOf(request.headers.get('authorization') ?? ''))
  if (isRefusal(holder) && holder.refused !== 'unauthenticated') return refusalResponse(holder)
  if (isRefusal(holder) || !holder.scopes.includes('operator')) {
    return Response.json(
      { error: 'An operator token is required, as a bearer or as the password of Basic authentication.' },
      { status: 401, headers: { 'WWW-Authenticate': 'Basic realm="operators", charset="UTF-8"' } },
    )
  }
  return page(request)
}

const tokenOf = (authorization: string): string | undefined =>
  bearerToken(authorization) ?? basicPassword(authorization)

const basicPassword = (authorization: string): string | undefined => {
  const [, credentials] = /^basic +(\S+)$/i.exec(authorization) ?? []
  const decoded = Buffer.from(credentials ?? '', 'base64').toString()
  return decoded.includes(':') ? decoded.slice(decoded.indexOf(':') + 1) : undefined
}

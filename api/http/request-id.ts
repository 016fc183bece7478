import { randomUUID } from 'node:crypto'

/** The form of an `X-Request-Id`. */
export const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

const requestIds = new WeakMap<Request, string>()

/**
 * The id of a request: the caller's `X-Request-Id` if it is valid, else a new one. Every call for a
 * request gives the same id.
 */
export const requestIdOf = (request: Request): string => {
  const known = requestIds.get(request)
  if (known !== undefined) return known
  const given = request.headers.get('x-request-id')
  const id = given !== null && REQUEST_ID.test(given) ? given : randomUUID()
  requestIds.set(request, id)
  return id
}

/** Gives a request that stands for another one the id of that request. */
export const keepRequestId = (request: Request, other: Request): void => {
  requestIds.set(other, requestIdOf(request))
}

/**
 * The ids in a line of the log output: of the request and, if known, of its workspace and
 * submission.
 */
type FaultIds = { requestId: string; workspaceId?: string; submissionId?: string }

/** Receives a fault of a request that gets an answer all the same. */
export type OnFault = (event: string, error: unknown, ids: FaultIds) => void

export const faultIds = (request: Request, ids: Omit<FaultIds, 'requestId'>): FaultIds => ({
  requestId: requestIdOf(request),
  ...ids,
})

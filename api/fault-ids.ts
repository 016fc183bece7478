import { requestIdOf } from './request-id.ts'

/**
 * Ids by which a line of the log is found again: of the request and, as far as they are known, of
 * workspace and submission.
 */
export type FaultIds = { requestId: string; workspaceId?: string; submissionId?: string }

/** Hears of each fault that a client sees only as a 503. */
export type OnFault = (event: string, error: unknown, ids: FaultIds) => void

export const faultIds = (request: Request, ids: Omit<FaultIds, 'requestId'>): FaultIds => ({
  requestId: requestIdOf(request),
  ...ids,
})

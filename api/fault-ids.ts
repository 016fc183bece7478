import { requestIdOf } from './request-id.ts'

/**
 * Ids that lead an operator to a line of the log output: of the request and, where known, of
 * workspace and submission.
 */
export type FaultIds = { requestId: string; workspaceId?: string; submissionId?: string }

/** Receives each fault that the client sees only as a 503. */
export type OnFault = (event: string, error: unknown, ids: FaultIds) => void

export const faultIds = (request: Request, ids: Omit<FaultIds, 'requestId'>): FaultIds => ({
  requestId: requestIdOf(request),
  ...ids,
})

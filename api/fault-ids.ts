import { requestIdOf } from './request-id.ts'

/** Ids by which a line of the log is found again: of the request and, as far as they are known, of workspace and submission. */
export type FaultIds = { requestId: string; workspaceId?: string; submissionId?: string }

/** Hears of each fault that a client sees as nothing but a 503. */
export type OnFault = (event: string, error: unknown, ids: FaultIds) => void

export const faultIds = (
  request: Request,
  { workspaceId, submissionId }: { workspaceId: string; submissionId: string },
): FaultIds => ({
  requestId: requestIdOf(request),
  workspaceId,
  // A draft has none: ids are drawn in the admission.
  ...(submissionId !== '' && { submissionId }),
})

import { requestIdOf } from './request-id.ts'

/** By which a line of the log is found again: of the request, and of what it came to, as far as that is known. */
export type FaultIds = { requestId: string; workspaceId?: string; submissionId?: string }

/** Hears of faults that a client sees as 503 only. */
export type OnFault = (event: string, error: unknown, ids: FaultIds) => void

export const faultIds = (
  request: Request,
  { workspaceId, submissionId }: { workspaceId: string; submissionId: string },
): FaultIds => ({ requestId: requestIdOf(request), workspaceId, submissionId })

import { asOwnId } from '../contract/identity/own-id.ts'
import type { Receipt } from '../contract/receipt.ts'
import { type Authenticate, callerOf } from './authenticate.ts'
import { faultIds, type OnFault } from './fault-ids.ts'
import type { Incoming } from './incoming.ts'
import { isRefusal, type Refusal, refusalResponse } from './refusal.ts'

export type ReceiptSources = {
  authenticate: Authenticate
  settled: (workspaceId: string, id: string) => Promise<Receipt | undefined>
  queued: (workspaceId: string, id: string) => Promise<Receipt | undefined>
  onFault: OnFault
}

/** GET /submissions/{id}: what became of a submission of the caller's workspace. */
export const readReceipt = async (sources: ReceiptSources, incoming: Incoming, id: string): Promise<Response> => {
  const found = await findReceipt(sources, incoming, id)
  if (!isRefusal(found)) return Response.json({ submission: found })
  incoming.span?.set({ 'feedback_insights.refused': found.refused })
  return refusalResponse(found)
}

const findReceipt = async (
  { authenticate, settled, queued, onFault }: ReceiptSources,
  incoming: Incoming,
  id: string,
): Promise<Receipt | Refusal> => {
  const caller = await callerOf(authenticate, incoming, 'submit')
  if (isRefusal(caller)) return caller
  const submissionId = asOwnId(id)
  if (submissionId === undefined) return { refused: 'no-such-submission' }
  const { workspaceId } = caller
  incoming.span?.set({ 'feedback_insights.submission.id': submissionId })
  try {
    // A submission that is settled between the first two looks is in neither of them, but in the third.
    const receipt =
      (await settled(workspaceId, submissionId)) ??
      (await queued(workspaceId, submissionId)) ??
      (await settled(workspaceId, submissionId))
    return receipt ?? { refused: 'no-such-submission' }
  } catch (error) {
    onFault('receipt_look_up_failed', error, faultIds(incoming.request, { workspaceId, submissionId }))
    return { refused: 'unavailable', why: 'postgres' }
  }
}

import { asUuid } from '../contract/identity/keys.ts'
import type { Receipt } from '../contract/receipt.ts'
import { type Authenticate, callerOf } from './authenticate.ts'
import { faultIds, type OnFault } from './http/request-id.ts'
import { isRefusal, type Refusal, refusalResponse } from './http/refusal.ts'
import type { Arrival } from './http/arrival.ts'

export type ReceiptSources = {
  authenticate: Authenticate
  findStored: (workspaceId: string, id: string) => Promise<Receipt | undefined>
  findQueued: (workspaceId: string, id: string) => Promise<Receipt | undefined>
  onFault: OnFault
}

/** GET /submissions/{id}: the receipt of a submission of the caller's workspace. */
export const readReceipt = async (sources: ReceiptSources, arrival: Arrival, id: string): Promise<Response> => {
  const found = await findReceipt(sources, arrival, id)
  if (!isRefusal(found)) return Response.json({ submission: found })
  arrival.span?.set({ 'feedback_insights.refused': found.refused })
  return refusalResponse(found)
}

const findReceipt = async (
  { authenticate, findStored, findQueued, onFault }: ReceiptSources,
  arrival: Arrival,
  id: string,
): Promise<Receipt | Refusal> => {
  const caller = await callerOf(authenticate, arrival, 'submit')
  if (isRefusal(caller)) return caller
  const submissionId = asUuid(id)
  if (submissionId === undefined) return { refused: 'no-such-submission' }
  const { workspaceId } = caller
  arrival.span?.set({ 'feedback_insights.submission.id': submissionId })
  try {
    // The first two look-ups miss a submission that is applied between them; the third finds it.
    const receipt =
      (await findStored(workspaceId, submissionId)) ??
      (await findQueued(workspaceId, submissionId)) ??
      (await findStored(workspaceId, submissionId))
    return receipt ?? { refused: 'no-such-submission' }
  } catch (error) {
    onFault('receipt_look_up_failed', error, faultIds(arrival.request, { workspaceId, submissionId }))
    return { refused: 'unavailable', why: 'stores' }
  }
}

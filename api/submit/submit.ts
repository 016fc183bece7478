import { callerOf } from '../authenticate.ts'
import type { Incoming } from '../incoming.ts'
import type { AnySubmissionKind } from '../operations/submission-kind.ts'
import { isRefusal, type Refusal, refusalResponse } from '../refusal.ts'
import {
  type Accepted,
  admit,
  answerTo,
  candidateOf,
  countOf,
  knownToBeLimited,
  type NotAccepted,
  type Visit,
} from './candidate.ts'
import type { Ingress } from './ingress.ts'
import { describeLimit } from './limit-headers.ts'
import { isStrict } from './preferences.ts'
import { mostBytesOf } from './read-body.ts'
import { parseSubmission, readSubmission, receiveSubmission } from './read-submission.ts'

/** Token → permission → size and content type → validation → idempotency key → rate limit → backlog → queue → answer. */
export const submit = async (ingress: Ingress, kind: AnySubmissionKind, incoming: Incoming): Promise<Response> => {
  const { operation } = kind
  const { headers } = incoming.request
  const caller = await callerOf(ingress.authenticate, incoming, kind.needs)
  const outcome = isRefusal(caller)
    ? { refusal: caller }
    : await accept({ ingress, kind, incoming, caller, isKeyed: headers.has('idempotency-key') })
  const refusal = 'refusal' in outcome ? outcome.refusal : undefined
  ingress.count(countOf(operation, refusal))
  incoming.span?.set({ 'feedback_insights.operation': operation, ...refusedAttribute(refusal) })
  const response = 'refusal' in outcome ? refusalResponse(outcome.refusal) : await acceptedResponse(outcome, incoming)
  const limit = ingress.limitOf(operation)
  if (isRefusal(caller)) return response
  // Only a caller learns what the limits are.
  const bucket = 'refusal' in outcome ? outcome.bucket : outcome.admitted.bucket
  if (limit) describeLimit(response.headers, limit, { operation, bucket })
  if (isStrict(headers)) response.headers.append('Preference-Applied', 'handling=strict')
  return response
}

/** The steps after permission. Until the body is in Redis it counts as in hand; an answer that waits (`Prefer: wait`) does not. */
const accept = async (visit: Visit): Promise<Accepted | NotAccepted> => {
  const { ingress, kind, incoming, caller } = visit
  const maxBytes = kind.operation === 'submit_conversation' ? ingress.maxBytes.conversation : ingress.maxBytes.body
  const early = knownToBeLimited(visit)
  if (early) return early
  const body = { workspaceId: caller.workspaceId, bytes: mostBytesOf(incoming.request, maxBytes) }
  const decision = await ingress.bodies.hold(body, async () => knownToBeLimited(visit) ?? decide(visit, maxBytes))
  return decision ?? { refusal: { refused: 'unavailable', why: 'bodies-in-hand' } }
}

const decide = async (visit: Visit, maxBytes: number): Promise<Accepted | NotAccepted> => {
  const { ingress, incoming, caller } = visit
  const received = await receiveSubmission(incoming.request, maxBytes)
  if (isRefusal(received)) return { refusal: received }
  const body = { workspaceId: caller.workspaceId, bytes: received.byteLength }
  return ingress.bodies.inTurn(body, () => decideOn(visit, received, maxBytes))
}

/** The steps from validation on. */
const decideOn = async (visit: Visit, bytes: Uint8Array, maxBytes: number): Promise<Accepted | NotAccepted> => {
  const { ingress, kind, incoming } = visit
  const { schema, operation } = kind
  const { headers } = incoming.request
  const parsed = parseSubmission(bytes, { maxBytes })
  if (isRefusal(parsed)) return { refusal: parsed }
  const { hashKey } = ingress
  const key = headers.get('idempotency-key')
  const read = readSubmission(parsed.value, { schema, operation, key, isStrict: isStrict(headers), hashKey })
  if (isRefusal(read)) return { refusal: read }
  const candidate = await candidateOf(visit, read, { asksFormer: false })
  if ('refusal' in candidate) return candidate
  return (await ingress.isWhole(incoming.request)) ? admit(candidate) : { refusal: BROKEN_OFF }
}

/** Nobody gets this answer: the runtime has given its own, or none. */
export const BROKEN_OFF: Refusal = {
  refused: 'invalid',
  problems: [{ message: 'Nothing may follow the body', path: '' }],
}

const acceptedResponse = async (accepted: Accepted, { span }: Incoming): Promise<Response> => {
  const { status, submissionId, body, waited } = await answerTo(accepted)
  span?.set({ 'feedback_insights.submission.id': submissionId })
  const response = Response.json(body, { status, headers: { 'Submission-Id': submissionId } })
  if (waited) response.headers.set('Submission-State', waited.state ?? 'queued')
  if (waited?.state !== undefined) response.headers.set('Preference-Applied', 'wait')
  return response
}

export const refusedAttribute = (refusal: Refusal | undefined): Record<string, string> =>
  refusal
    ? { 'feedback_insights.refused': 'why' in refusal ? `${refusal.refused} ${refusal.why}` : refusal.refused }
    : {}

import { JOB_VERSION, type Operation, type SubmissionJob } from '../../contract/job.ts'
import type { Bucket } from '../../queue/admission.ts'
import { type Caller, callerOf } from '../authenticate.ts'
import type { Incoming } from '../incoming.ts'
import type { Admitted, AnySubmissionKind, Grounds } from '../operations/submission-kind.ts'
import { isRefusal, type Refusal, refusalResponse } from '../refusal.ts'
import { admitSubmission, formerAdmission, rateLimited } from './admit-submission.ts'
import type { Ingress } from './ingress.ts'
import { describeLimit } from './limit-headers.ts'
import { isStrict, waitSeconds } from './preferences.ts'
import { mostBytesOf } from './read-body.ts'
import { readSubmission, receiveSubmission } from './read-submission.ts'

/** Token → permission → size and content type → validation → idempotency key → rate limit → backlog → queue → answer. */
export const submit = async (ingress: Ingress, kind: AnySubmissionKind, incoming: Incoming): Promise<Response> => {
  const { operation } = kind
  const caller = await callerOf(ingress.authenticate, incoming, kind.needs)
  const { outcome, bucket } = isRefusal(caller)
    ? { outcome: caller }
    : await outcomeFor({ ingress, kind, incoming, caller })
  ingress.count({
    operation,
    result: isRefusal(outcome) ? outcome.refused : 'accepted',
    ...(isRefusal(outcome) && 'why' in outcome && { why: outcome.why }),
  })
  incoming.span?.set(outcomeAttributes(operation, outcome))
  const response = isRefusal(outcome) ? refusalResponse(outcome) : outcome
  const limit = ingress.limitOf(operation)
  // Only a caller learns what the limits are.
  if (limit && !isRefusal(caller)) describeLimit(response.headers, limit, { operation, bucket })
  if (!isRefusal(caller) && isStrict(incoming.request.headers))
    response.headers.append('Preference-Applied', 'handling=strict')
  return response
}

type Visit = { ingress: Ingress; kind: AnySubmissionKind; incoming: Incoming; caller: Caller }
/** `bucket`: what is left of the limit, where it was looked at. */
type Outcome = { outcome: Response | Refusal; bucket?: Bucket | undefined }

/** The steps after permission. Until the body is in Redis it counts as in hand; an answer that waits (`Prefer: wait`) does not. */
const outcomeFor = async (visit: Visit): Promise<Outcome> => {
  const { ingress, kind, incoming, caller } = visit
  const maxBytes = kind.operation === 'submit_conversation' ? ingress.maxBytes.conversation : ingress.maxBytes.body
  const early = knownToBeLimited(visit)
  if (early) return early
  const body = { workspaceId: caller.workspaceId, bytes: mostBytesOf(incoming.request, maxBytes) }
  const decision = await ingress.bodies.hold(body, async () => knownToBeLimited(visit) ?? decide(visit, maxBytes))
  if (decision === undefined) return { outcome: { refused: 'unavailable', why: 'bodies-in-hand' } }
  if ('outcome' in decision) return decision
  return { outcome: await answer(visit, decision, decision.admitted), bucket: decision.admitted.bucket }
}

/** Before a body is read for nothing. A key may be that of a request which was admitted, and is answered again. */
const knownToBeLimited = ({ ingress, kind, incoming, caller }: Visit): Outcome | undefined => {
  const bucket = ingress.emptyBuckets.find(caller.workspaceId, kind.operation)
  if (bucket === undefined || incoming.request.headers.has('idempotency-key')) return undefined
  return { outcome: rateLimited(ingress, kind.operation, bucket), bucket }
}

type Decided = { draft: SubmissionJob; grounds: Grounds; admitted: Admitted }

const decide = async (visit: Visit, maxBytes: number): Promise<Decided | Outcome> => {
  const { ingress, incoming, caller } = visit
  const received = await receiveSubmission(incoming.request, maxBytes)
  if (isRefusal(received)) return { outcome: received }
  const body = { workspaceId: caller.workspaceId, bytes: received.byteLength }
  return ingress.bodies.inTurn(body, () => decideOn(visit, received, maxBytes))
}

/** The steps from validation on. Redis takes those from the idempotency key to the queue in one. */
const decideOn = async (visit: Visit, bytes: Uint8Array, maxBytes: number): Promise<Decided | Outcome> => {
  const { ingress, kind, incoming } = visit
  const { request } = incoming
  const read = readSubmission(bytes, {
    headers: request.headers,
    schema: kind.schema,
    operation: kind.operation,
    maxBytes,
    hashKey: ingress.hashKey,
  })
  if (isRefusal(read)) return { outcome: read }
  const draft = draftOf(visit, read.body)
  let grounds: Grounds | undefined
  const groundsUnder = (submissionId: string): Grounds => (grounds = groundsOf(visit, { ...draft, submissionId }))
  const entrant = { request, draft, groundsUnder, idempotency: read.idempotency, pressure: ingress.pressure() }
  // Asked before the check, which would refuse to repeat what was accepted: a purge that is repeated finds nobody any more.
  const former = kind.check && (await formerAdmission(ingress, entrant))
  const refusal = former ? undefined : await kind.check?.(ingress, draft, request)
  if (refusal) return { outcome: refusal }
  if (!(await ingress.isWhole(request))) return { outcome: BROKEN_OFF }
  const admission = former ?? (await admitSubmission(ingress, entrant))
  const { bucket } = admission
  ingress.emptyBuckets.seen(draft.workspaceId, kind.operation, bucket)
  if ('refusal' in admission) return { outcome: admission.refusal, bucket }
  return { draft, grounds: grounds!, admitted: admission }
}

/** Nobody gets this answer: the runtime has given its own, or none. */
const BROKEN_OFF: Refusal = {
  refused: 'invalid',
  problems: [{ message: 'Nothing may follow the body', path: '' }],
}

/** The submission as it will be queued, but for its id and its number, which it gets when it is admitted. */
const draftOf = ({ kind, incoming: { span }, caller }: Visit, body: object): SubmissionJob =>
  ({
    version: JOB_VERSION,
    operation: kind.operation,
    workspaceId: caller.workspaceId,
    submissionId: '',
    number: 0,
    body,
    ...(span && { traceparent: span.traceparent }),
  }) as SubmissionJob

const groundsOf = ({ ingress: { hashKey }, kind, caller }: Visit, draft: SubmissionJob): Grounds =>
  kind.groundsOf({ hashKey, workspaceId: caller.workspaceId }, draft)

/** The answer to an admitted submission, or once more to one that was admitted before under the same idempotency key. */
const answer = async (
  visit: Visit,
  own: { draft: SubmissionJob; grounds: Grounds },
  admitted: Admitted,
): Promise<Response> => {
  const { ingress, kind, incoming, caller } = visit
  const isRepeated = admitted.outcome === 'repeated'
  const { submissionId } = admitted
  incoming.span?.set({ 'feedback_insights.submission.id': submissionId })
  const job = { ...own.draft, submissionId, number: admitted.number }
  const grounds = isRepeated ? groundsOf(visit, job) : own.grounds
  const { status, body } = await kind.respond(ingress, job, { grounds, admitted })
  const response = Response.json(body, { status, headers: { 'Submission-Id': submissionId } })
  const seconds = waitSeconds(incoming.request.headers)
  if (seconds !== undefined) {
    const state = await ingress.awaitSettled({ workspaceId: caller.workspaceId, id: submissionId }, seconds * 1_000)
    response.headers.set('Submission-State', state ?? 'queued')
    if (state !== undefined) response.headers.set('Preference-Applied', 'wait')
  }
  return response
}

const outcomeAttributes = (operation: Operation, outcome: Response | Refusal): Record<string, string> => ({
  'feedback_insights.operation': operation,
  ...(isRefusal(outcome) && {
    'feedback_insights.refused': 'why' in outcome ? `${outcome.refused} ${outcome.why}` : outcome.refused,
  }),
})

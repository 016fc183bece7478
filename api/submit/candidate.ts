import { JOB_VERSION, type Operation, type SubmissionJob } from '../../contract/job.ts'
import type { SubmissionState } from '../../contract/receipt.ts'
import type { Bucket } from '../../queue/admission.ts'
import type { Caller } from '../authenticate.ts'
import type { Incoming } from '../incoming.ts'
import type { Admitted, AnySubmissionKind, Grounds } from '../operations/submission-kind.ts'
import type { Refusal } from '../refusal.ts'
import { admitSubmission, type Entrant, formerAdmission, type NotAdmitted, rateLimited } from './admit-submission.ts'
import type { Ingress } from './ingress.ts'
import { waitSeconds } from './preferences.ts'
import type { ReadSubmission } from './read-submission.ts'

/** What asks for an operation: a request, or an item of a batch. */
export type Visit = { ingress: Ingress; kind: AnySubmissionKind; incoming: Incoming; caller: Caller; isKeyed: boolean }

/** A submission whose body is valid, on its way to admission. `former`: what the first one with its idempotency key came to. */
export type Candidate = {
  visit: Visit
  entrant: Entrant
  grounds: () => Grounds
  former: Admitted | NotAdmitted | undefined
}

/** `bucket`: what is left of the limit, where it was looked at. */
export type NotAccepted = { refusal: Refusal; bucket?: Bucket | undefined }
export type Accepted = { candidate: Candidate; admitted: Admitted }

/** Before a body is read for nothing. A key may be that of a request which was admitted, and is answered again. */
export const knownToBeLimited = ({ ingress, kind, caller, isKeyed }: Visit): NotAccepted | undefined => {
  const bucket = ingress.emptyBuckets.find(caller.workspaceId, kind.operation)
  if (bucket === undefined || isKeyed) return undefined
  return { refusal: rateLimited(ingress, kind.operation, bucket), bucket }
}

/** `asksFormer`: whether the idempotency key is looked up before anything else; it is in any case where a check is to come. */
export const candidateOf = async (
  visit: Visit,
  { body, idempotency }: ReadSubmission<object>,
  { asksFormer }: { asksFormer: boolean },
): Promise<Candidate | NotAccepted> => {
  const { ingress, kind, incoming, caller } = visit
  const { hashKey } = ingress
  const draft = draftOf(visit, body)
  let known: Grounds | undefined
  const groundsUnder = (submissionId: string): Grounds =>
    (known = kind.groundsOf({ hashKey, workspaceId: caller.workspaceId }, { ...draft, submissionId }))
  const entrant = { request: incoming.request, draft, groundsUnder, idempotency, pressure: ingress.pressure() }
  // Asked before the check, which would refuse to repeat what was accepted: a purge that is repeated finds nobody any more.
  const former = kind.check || asksFormer ? await formerAdmission(ingress, entrant) : undefined
  const refusal = former ? undefined : await kind.check?.(ingress, draft, incoming.request)
  return refusal ? { refusal } : { visit, entrant, grounds: () => known!, former }
}

/** Redis takes the steps from the idempotency key to the queue in one. */
export const admit = async (candidate: Candidate): Promise<Accepted | NotAccepted> => {
  const { visit, entrant, former } = candidate
  const admission = former ?? (await admitSubmission(visit.ingress, entrant))
  visit.ingress.emptyBuckets.seen(visit.caller.workspaceId, visit.kind.operation, admission.bucket)
  return 'refusal' in admission ? admission : { candidate, admitted: admission }
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

/** `state`: where the caller would wait; undefined within when it was not settled in time. */
export type AcceptedAnswer = {
  status: number
  submissionId: string
  body: object
  waited?: { state: SubmissionState | undefined }
}

/** The answer to an admitted submission, or once more to one that was admitted before under the same idempotency key. */
export const answerTo = async ({ candidate, admitted }: Accepted): Promise<AcceptedAnswer> => {
  const { visit, entrant } = candidate
  const { ingress, kind, incoming, caller } = visit
  const { submissionId, number } = admitted
  // Under a former submission's id, what was admitted then was said.
  const grounds = admitted.outcome === 'repeated' ? entrant.groundsUnder(submissionId) : candidate.grounds()
  const { status, body } = await kind.respond(
    ingress,
    { ...entrant.draft, submissionId, number },
    { grounds, admitted },
  )
  const seconds = waitSeconds(incoming.request.headers)
  if (seconds === undefined) return { status, submissionId, body }
  const state = await ingress.awaitSettled({ workspaceId: caller.workspaceId, id: submissionId }, seconds * 1_000)
  return { status, submissionId, body, waited: { state } }
}

/** What metrics and traces know of an operation that was asked for. */
export const countOf = (
  operation: Operation | 'batch',
  refusal: Refusal | undefined,
): Parameters<Ingress['count']>[0] => ({
  operation,
  result: refusal?.refused ?? 'accepted',
  ...(refusal && 'why' in refusal && { why: refusal.why }),
})

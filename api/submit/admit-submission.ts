import type { Operation, SubmissionJob } from '../../contract/job.ts'
import type { Admission, Bucket } from '../../queue/admission.ts'
import type { Idempotency } from '../../contract/idempotency.ts'
import { isFullRedis, isRefusedByRedis } from '../../queue/connect-redis.ts'
import { faultIds } from '../fault-ids.ts'
import type { Ingress } from './ingress.ts'
import { wholeSeconds } from './limit-headers.ts'
import type { Admitted, Grounds } from '../operations/submission-kind.ts'
import { keysToLookUp } from '../reference-resolver.ts'
import type { Refusal, Unavailable } from '../refusal.ts'

/** A valid submission that asks for admission. */
export type Entrant = {
  request: Request
  /** Its ids and its number are not drawn yet. */
  draft: SubmissionJob
  /** What the submission says and goes by, under the id that it would have. */
  groundsUnder: (submissionId: string) => Grounds
  idempotency: Idempotency | undefined
  pressure: ReturnType<Ingress['pressure']>
}

/** `bucket`: what is left of the limit, where it was looked at. */
export type NotAdmitted = { refusal: Refusal; bucket?: Bucket | undefined }

/** Idempotency key → rate limit → backlog → queue: Redis judges all four in one step, and what is admitted is queued. */
export const admitSubmission = async (ingress: Ingress, entrant: Entrant): Promise<Admitted | NotAdmitted> => {
  const judgement = await ask(ingress, entrant, { peek: false })
  if (judgement === undefined) throw new Error('Only a peek is answered so.')
  return judgement
}

/** What the first request with the same idempotency key came to; undefined when this one is the first, or has no key. */
export const formerAdmission = async (
  ingress: Ingress,
  entrant: Entrant,
): Promise<Admitted | NotAdmitted | undefined> => entrant.idempotency && ask(ingress, entrant, { peek: true })

const ask = async (
  ingress: Ingress,
  entrant: Entrant,
  { peek }: { peek: boolean },
): Promise<Admitted | NotAdmitted | undefined> => {
  const { request, draft, groundsUnder, idempotency, pressure } = entrant
  const { workspaceId, operation, body, traceparent } = draft
  try {
    const admission = await ingress.admit({
      workspaceId,
      operation,
      bodyText: peek ? '' : JSON.stringify(body),
      traceparent,
      limit: ingress.limitOf(operation),
      idempotency,
      full: pressure !== undefined,
      peek,
      saidBy: (submissionId) => {
        const { sayings, references } = groundsUnder(submissionId)
        return { sayings, lookUp: references ? keysToLookUp(references) : [] }
      },
    })
    return judgementOf(ingress, entrant, admission)
  } catch (error) {
    if (OUR_OWN.some((kind) => error instanceof kind)) throw error
    ingress.onFault('admission_failed', error, faultIds(request, draft))
    return { refusal: { refused: 'unavailable', why: whyUnavailable(error) } }
  }
}

/** Nothing is full or away when these are thrown. */
const OUR_OWN = [TypeError, RangeError, ReferenceError]

const whyUnavailable = (error: unknown): Unavailable['why'] => {
  if (isFullRedis(error)) return 'redis-memory'
  return isRefusedByRedis(error) ? 'redis-refuses' : 'redis'
}

const judgementOf = (
  ingress: Ingress,
  { draft, pressure }: Entrant,
  admission: Admission,
): Admitted | NotAdmitted | undefined => {
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
      return admission
    case 'fresh':
      return undefined
    case 'full':
      return { refusal: { refused: 'unavailable', why: pressure ?? 'workspace-backlog' }, bucket: admission.bucket }
    case 'unreplicated':
      return { refusal: { refused: 'unavailable', why: 'redis-replicas' }, bucket: admission.bucket }
    case 'rate-limited':
      return { refusal: rateLimited(ingress, draft.operation, admission.bucket), bucket: admission.bucket }
    case 'other-body':
      return { refusal: { refused: 'idempotency-key-of-other-body' }, bucket: admission.bucket }
  }
}

export const rateLimited = (ingress: Ingress, operation: Operation, bucket: Bucket | undefined): Refusal => {
  const { tokens = 0, windowMs = 0 } = ingress.limitOf(operation) ?? {}
  const retryAfterSeconds = wholeSeconds(bucket?.resetMs ?? windowMs)
  return { refused: 'rate-limited', tokens, windowSeconds: windowMs / 1_000, retryAfterSeconds }
}

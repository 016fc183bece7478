import { v7 as submissionIdNow } from 'uuid'
import type { GenericSchema } from 'valibot'
import type { Admission, AdmissionRequest, Admit, Bucket, RateLimit } from '../db/admission.ts'
import { JOB_VERSION, type JobOf, type Operation, type SubmissionJob } from '../db/contract/job.ts'
import type { HashKey } from '../db/contract/own-id.ts'
import { concernedKeys, pendingOf } from '../db/contract/pending.ts'
import type { MatchesPurge } from '../db/find-contacts.ts'
import type { Idempotency } from '../db/idempotency.ts'
import type { ResolveReferences } from '../db/meaning.ts'
import type { Span } from '../db/tracing.ts'
import { type Authenticate, type Caller, permitted } from './authenticate.ts'
import type { AwaitSettled } from './await-settled.ts'
import { faultIds, type OnFault } from './fault-ids.ts'
import { describeLimit, wholeSeconds } from './limit-headers.ts'
import { waitSeconds } from './preferences.ts'
import { readSubmission, type ReadSubmission } from './read-submission.ts'
import { isRefusal, type Refusal, refusalResponse } from './refusal.ts'

/** What the ingress needs to take submissions in. Everything that has a clock, a store or randomness is handed in. */
export type Ingress = {
  authenticate: Authenticate
  admit: Admit
  /** `bytes`: about how many its body has. */
  enqueue: (job: SubmissionJob, bytes: number) => Promise<void>
  resolveReferences: ResolveReferences
  matchesPurge: MatchesPurge
  awaitSettled: AwaitSettled
  rememberAnswered: (done: SubmissionJob, idempotency: Idempotency) => Promise<void>
  /** Why nothing may be taken in at this moment, if so. */
  pressure: () => 'redis-memory' | 'backlog' | undefined
  limitOf: (operation: Operation) => RateLimit | undefined
  maxBytes: { body: number; conversation: number }
  hashKey: HashKey
  onFault: OnFault
  count: (outcome: { operation: Operation; result: 'accepted' | Refusal['refused'] }) => void
}

export type Admitted = Extract<Admission, { outcome: 'admitted' | 'repeated' }>
export type Answer = { status: number; body: object }

/** One operation of the interface, as a submission. */
export type SubmissionKind<O extends Operation, S extends GenericSchema> = {
  operation: O
  needs: 'submit' | 'admin'
  schema: S
  /** What validation cannot see: refuses what is well-formed and yet cannot be taken in. */
  check?: (ingress: Ingress, draft: JobOf<O>, request: Request) => Promise<Refusal | undefined> | Refusal | undefined
  /** Keys about which the answer needs to know what is queued. */
  lookUp?: (ingress: Ingress, job: JobOf<O>) => string[]
  respond: (ingress: Ingress, job: JobOf<O>, admitted: Admitted) => Promise<Answer> | Answer
}

export type Incoming = { request: Request; token: string | undefined; span: Span | undefined }

/** Token → permission → size and content type → validation → idempotency key → rate limit → backlog → queue → answer. */
export const submit = async <O extends Operation, S extends GenericSchema>(
  ingress: Ingress,
  kind: SubmissionKind<O, S>,
  incoming: Incoming,
): Promise<Response> => {
  const { operation } = kind
  const caller = await callerOf(ingress, kind, incoming)
  const taken: Taken = isRefusal(caller) ? { outcome: caller } : await takeIn({ ingress, kind, incoming }, caller)
  const { outcome, bucket } = taken
  ingress.count({ operation, result: isRefusal(outcome) ? outcome.refused : 'accepted' })
  incoming.span?.set(described(operation, outcome))
  const response = isRefusal(outcome) ? refusalResponse(outcome) : outcome
  const limit = ingress.limitOf(operation)
  // Limits are nobody's business but a caller's.
  if (limit && !isRefusal(caller)) describeLimit(response.headers, limit, { operation, bucket })
  return response
}

const described = (operation: Operation, outcome: Response | Refusal): Record<string, string> => ({
  'feedback_insights.operation': operation,
  ...(isRefusal(outcome) && {
    'feedback_insights.refused': 'why' in outcome ? `${outcome.refused} ${outcome.why}` : outcome.refused,
  }),
})

const callerOf = async (
  ingress: Ingress,
  { needs }: Pick<SubmissionKind<Operation, GenericSchema>, 'needs'>,
  { token, span }: Incoming,
): Promise<Caller | Refusal> => {
  const holder = await ingress.authenticate(token)
  const caller = isRefusal(holder) ? holder : permitted(holder, needs)
  if (!isRefusal(caller)) span?.set({ 'feedback_insights.workspace.id': caller.workspaceId })
  return caller
}

type Taking<O extends Operation, S extends GenericSchema> = {
  ingress: Ingress
  kind: SubmissionKind<O, S>
  incoming: Incoming
}
/** `bucket`: what is left of the limit, where it was looked at. */
type Taken = { outcome: Response | Refusal; bucket?: Bucket | undefined }

const takeIn = async <O extends Operation, S extends GenericSchema>(
  taking: Taking<O, S>,
  caller: Caller,
): Promise<Taken> => {
  const { ingress, kind } = taking
  const { request, span } = taking.incoming
  const maxBytes = kind.operation === 'submit_conversation' ? ingress.maxBytes.conversation : ingress.maxBytes.body
  const read = await readSubmission(request, { schema: kind.schema, maxBytes, hashKey: ingress.hashKey })
  if (isRefusal(read)) return { outcome: read }
  const { body, bytes, idempotency } = read
  const draft = {
    version: JOB_VERSION,
    operation: kind.operation,
    workspaceId: caller.workspaceId,
    submissionId: submissionIdNow(),
    number: 0,
    body,
    ...(span && { traceparent: span.traceparent }),
  } as JobOf<O>
  const lookUp = kind.lookUp?.(ingress, draft) ?? []
  const entering: Entering = { request, draft, lookUp, idempotency, pressure: ingress.pressure() }
  if (idempotency) {
    const former = await admit(ingress, { ...entering, peek: true })
    if (isRefusal(former)) return { outcome: former }
    if (former.outcome !== 'fresh') return answered(taking, entering, former)
  }
  const refusal = await kind.check?.(ingress, draft, request)
  if (refusal) return { outcome: refusal }

  const admission = await admit(ingress, entering)
  if (isRefusal(admission)) return { outcome: admission }
  if (admission.outcome === 'admitted') {
    const unqueued = await enqueue(ingress, { ...draft, number: admission.number }, { request, bytes, idempotency })
    if (unqueued) return { outcome: unqueued, bucket: admission.bucket }
  }
  return answered(taking, entering, admission)
}

type Entering = {
  request: Request
  draft: SubmissionJob
  lookUp: readonly string[]
  idempotency: Idempotency | undefined
  pressure: ReturnType<Ingress['pressure']>
  peek?: boolean
}

const admit = async (
  ingress: Ingress,
  { request, draft, lookUp, idempotency, pressure, peek = false }: Entering,
): Promise<Admission | Refusal> => {
  const { workspaceId, operation, submissionId } = draft
  const realm = { hashKey: ingress.hashKey, workspaceId }
  const asked: AdmissionRequest = {
    workspaceId,
    operation,
    submissionId,
    limit: ingress.limitOf(operation),
    idempotency,
    ...(idempotency && { concerns: concernedKeys(realm, draft) }),
    full: pressure !== undefined,
    peek,
    pending: pendingOf(realm, draft),
    lookUp,
  }
  try {
    return await ingress.admit(asked)
  } catch (error) {
    ingress.onFault('admission_failed', error, faultIds(request, draft))
    return { refused: 'unavailable', why: 'redis' }
  }
}

const enqueue = async (
  ingress: Ingress,
  job: SubmissionJob,
  { request, bytes, idempotency }: Pick<ReadSubmission<unknown>, 'bytes' | 'idempotency'> & { request: Request },
): Promise<Refusal | undefined> => {
  try {
    await ingress.enqueue(job, bytes)
  } catch (error) {
    ingress.onFault('enqueue_failed', error, faultIds(request, job))
    return { refused: 'unavailable', why: 'redis' }
  }
  // It is queued: a key that cannot be kept now is no reason to confirm nothing.
  if (idempotency) {
    await ingress
      .rememberAnswered(job, idempotency)
      .catch((error: unknown) => ingress.onFault('remember_failed', error, faultIds(request, job)))
  }
  return undefined
}

const answered = async <O extends Operation, S extends GenericSchema>(
  taking: Taking<O, S>,
  { draft, pressure }: Entering,
  admission: Admission,
): Promise<Taken> => {
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
      return { outcome: await respond(taking, draft as JobOf<O>, admission), bucket: admission.bucket }
    case 'full':
      return { outcome: { refused: 'unavailable', why: pressure ?? 'backlog' }, bucket: admission.bucket }
    case 'rate-limited':
      return { outcome: rateLimited(taking, admission.bucket), bucket: admission.bucket }
    case 'in-flight':
      return { outcome: { refused: 'idempotency-key-in-flight' }, bucket: admission.bucket }
    case 'other-body':
      return { outcome: { refused: 'idempotency-key-of-other-body' }, bucket: admission.bucket }
    case 'fresh':
      throw new Error('Only a peek is answered so.')
  }
}

const rateLimited = <O extends Operation, S extends GenericSchema>(
  { ingress, kind }: Taking<O, S>,
  bucket: Bucket | undefined,
): Refusal => {
  const { tokens = 0, windowMs = 0 } = ingress.limitOf(kind.operation) ?? {}
  return {
    refused: 'rate-limited',
    tokens,
    windowSeconds: windowMs / 1_000,
    retryAfterSeconds: wholeSeconds(bucket?.resetMs ?? windowMs),
  }
}

/** The answer to an admitted submission, or once more to one that was admitted before under the same idempotency key. */
const respond = async <O extends Operation, S extends GenericSchema>(
  { ingress, kind, incoming }: Taking<O, S>,
  draft: JobOf<O>,
  admitted: Admitted,
): Promise<Response> => {
  const submissionId = admitted.outcome === 'repeated' ? admitted.submissionId : draft.submissionId
  incoming.span?.set({ 'feedback_insights.submission.id': submissionId })
  const job: JobOf<O> = { ...draft, submissionId, number: admitted.number }
  const { status, body } = await kind.respond(ingress, job, admitted)
  const response = Response.json(body, { status, headers: { 'Submission-Id': submissionId } })
  const seconds = waitSeconds(incoming.request.headers)
  if (seconds !== undefined) {
    const state = await ingress.awaitSettled({ workspaceId: job.workspaceId, id: submissionId }, seconds * 1_000)
    response.headers.set('Submission-State', state ?? 'queued')
    if (state !== undefined) response.headers.set('Preference-Applied', 'wait')
  }
  return response
}

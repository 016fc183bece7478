import { v7 as submissionIdNow } from 'uuid'
import type { GenericSchema } from 'valibot'
import type { Admission, AdmissionRequest, Admit, Bucket, RateLimit } from '../queue/admission.ts'
import { JOB_VERSION, type JobOf, type Operation, type SubmissionJob } from '../contract/job.ts'
import type { HashKey, Realm } from '../contract/identity/own-id.ts'
import { keysOf, namesIn } from '../contract/identity/names.ts'
import { type Sayings, sayingsOf } from '../contract/identity/sayings.ts'
import type { AnswerReferences } from '../contract/identity/reference.ts'
import type { MatchesPurge } from './purge-matcher.ts'
import type { Idempotency } from '../queue/idempotency.ts'
import { keysToLookUp } from './reference-resolver.ts'
import type { ResolveReferences } from '../contract/identity/meaning.ts'
import type { Span } from '../process/tracing.ts'
import { type Authenticate, type Caller, permitted } from './authenticate.ts'
import type { AwaitSettled } from './await-settled.ts'
import { faultIds, type OnFault } from './fault-ids.ts'
import { describeLimit, wholeSeconds } from './limit-headers.ts'
import { waitSeconds } from './preferences.ts'
import { readSubmission } from './read-submission.ts'
import { isRefusal, type Refusal, refusalResponse } from './refusal.ts'

/** What the ingress needs to take submissions in. Everything that has a clock, a store or randomness is handed in. */
export type Ingress = {
  authenticate: Authenticate
  admit: Admit
  resolveReferences: ResolveReferences
  matchesPurge: MatchesPurge
  awaitSettled: AwaitSettled
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

/**
 * What admission and answer go by, made once for both: the hashes of a feedback, made anew wherever they were needed, took a
 * third of its request's processor time.
 */
export type Grounds = { sayings: Sayings; references?: AnswerReferences }

/** One operation of the interface, as a submission. */
export type SubmissionKind<O extends Operation, S extends GenericSchema, G extends Grounds = Grounds> = {
  operation: O
  needs: 'submit' | 'admin'
  schema: S
  /** What validation cannot see: refuses what is well-formed and yet cannot be taken in. */
  check?: (ingress: Ingress, draft: JobOf<O>, request: Request) => Promise<Refusal | undefined> | Refusal | undefined
  groundsOf: (realm: Realm, draft: JobOf<O>) => G
  respond: (ingress: Ingress, job: JobOf<O>, known: { grounds: G; admitted: Admitted }) => Promise<Answer> | Answer
}

/** Of operations whose answers tell of nobody. */
export const sayingsAlone = (realm: Realm, draft: SubmissionJob): Grounds => ({ sayings: sayingsOf(realm, draft) })

export type Incoming = { request: Request; token: string | undefined; span: Span | undefined }

/** Token → permission → size and content type → validation → idempotency key → rate limit → backlog → queue → answer. */
export const submit = async <O extends Operation, S extends GenericSchema, G extends Grounds>(
  ingress: Ingress,
  kind: SubmissionKind<O, S, G>,
  incoming: Incoming,
): Promise<Response> => {
  const { operation } = kind
  const caller = await callerOf(ingress, kind, incoming)
  const taken: SubmissionOutcome = isRefusal(caller)
    ? { outcome: caller }
    : await admitSubmission({ ingress, kind, incoming }, caller)
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

type SubmissionContext<O extends Operation, S extends GenericSchema, G extends Grounds> = {
  ingress: Ingress
  kind: SubmissionKind<O, S, G>
  incoming: Incoming
}
/** `bucket`: what is left of the limit, where it was looked at. */
type SubmissionOutcome = { outcome: Response | Refusal; bucket?: Bucket | undefined }

const admitSubmission = async <O extends Operation, S extends GenericSchema, G extends Grounds>(
  taking: SubmissionContext<O, S, G>,
  caller: Caller,
): Promise<SubmissionOutcome> => {
  const { ingress, kind } = taking
  const { request, span } = taking.incoming
  const maxBytes = kind.operation === 'submit_conversation' ? ingress.maxBytes.conversation : ingress.maxBytes.body
  const read = await readSubmission(request, { schema: kind.schema, maxBytes, hashKey: ingress.hashKey })
  if (isRefusal(read)) return { outcome: read }
  const { body, idempotency } = read
  const draft = {
    version: JOB_VERSION,
    operation: kind.operation,
    workspaceId: caller.workspaceId,
    submissionId: submissionIdNow(),
    number: 0,
    body,
    ...(span && { traceparent: span.traceparent }),
  } as JobOf<O>
  const grounds = kind.groundsOf({ hashKey: ingress.hashKey, workspaceId: caller.workspaceId }, draft)
  const entering: Entering<G> = { request, draft, grounds, idempotency, pressure: ingress.pressure() }
  if (kind.check) {
    if (idempotency) {
      const former = await admit(ingress, { ...entering, peek: true })
      if (isRefusal(former)) return { outcome: former }
      if (former.outcome !== 'fresh') return answerAdmission(taking, entering, former)
    }
    const refusal = await kind.check(ingress, draft, request)
    if (refusal) return { outcome: refusal }
  }
  const admission = await admit(ingress, entering)
  return isRefusal(admission) ? { outcome: admission } : answerAdmission(taking, entering, admission)
}

type Entering<G extends Grounds> = {
  request: Request
  draft: SubmissionJob
  grounds: G
  idempotency: Idempotency | undefined
  pressure: ReturnType<Ingress['pressure']>
  peek?: boolean
}

const admit = async (
  ingress: Ingress,
  { request, draft, grounds, idempotency, pressure, peek = false }: Entering<Grounds>,
): Promise<Admission | Refusal> => {
  const { workspaceId, operation, submissionId } = draft
  const { sayings, references } = grounds
  const asked: AdmissionRequest = {
    workspaceId,
    operation,
    submissionId,
    limit: ingress.limitOf(operation),
    idempotency,
    ...(idempotency && {
      concerns: keysOf(namesIn({ hashKey: ingress.hashKey, workspaceId }, draft, references?.contact)),
    }),
    full: pressure !== undefined,
    peek,
    sayings,
    lookUp: references ? keysToLookUp(references) : [],
    ...(!peek && { job: JSON.stringify({ ...draft, number: undefined }) }),
  }
  try {
    return await ingress.admit(asked)
  } catch (error) {
    ingress.onFault('admission_failed', error, faultIds(request, draft))
    return { refused: 'unavailable', why: 'redis' }
  }
}

const answerAdmission = async <O extends Operation, S extends GenericSchema, G extends Grounds>(
  taking: SubmissionContext<O, S, G>,
  entering: Entering<G>,
  admission: Admission,
): Promise<SubmissionOutcome> => {
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
      return { outcome: await respond(taking, entering, admission), bucket: admission.bucket }
    case 'full':
      return { outcome: { refused: 'unavailable', why: entering.pressure ?? 'backlog' }, bucket: admission.bucket }
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

const rateLimited = <O extends Operation, S extends GenericSchema, G extends Grounds>(
  { ingress, kind }: SubmissionContext<O, S, G>,
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
const respond = async <O extends Operation, S extends GenericSchema, G extends Grounds>(
  { ingress, kind, incoming }: SubmissionContext<O, S, G>,
  { draft, grounds: own }: Entering<G>,
  admitted: Admitted,
): Promise<Response | Refusal> => {
  const isRepeated = admitted.outcome === 'repeated'
  const submissionId = isRepeated ? admitted.submissionId : draft.submissionId
  incoming.span?.set({ 'feedback_insights.submission.id': submissionId })
  const job = { ...draft, submissionId, number: admitted.number } as JobOf<O>
  const grounds = isRepeated ? kind.groundsOf({ hashKey: ingress.hashKey, workspaceId: job.workspaceId }, job) : own
  const { status, body } = await kind.respond(ingress, job, { grounds, admitted })
  const response = Response.json(body, { status, headers: { 'Submission-Id': submissionId } })
  const seconds = waitSeconds(incoming.request.headers)
  if (seconds !== undefined) {
    const state = await ingress.awaitSettled({ workspaceId: job.workspaceId, id: submissionId }, seconds * 1_000)
    response.headers.set('Submission-State', state ?? 'queued')
    if (state !== undefined) response.headers.set('Preference-Applied', 'wait')
  }
  return response
}

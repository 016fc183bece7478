import { v7 as submissionIdNow } from 'uuid'
import type { GenericSchema } from 'valibot'
import type { Admission, AdmissionRequest, Admit, Idempotency, RateLimit } from '../db/admission.ts'
import { JOB_VERSION, type JobOf, type Operation, type SubmissionJob } from '../db/contract/job.ts'
import { MAX_DEPTH_LEVELS } from '../db/contract/limits.ts'
import type { HashKey } from '../db/contract/own-id.ts'
import { concernedKeys, pendingOf } from '../db/contract/pending.ts'
import { storable } from '../db/contract/storable.ts'
import type { MatchesPurge } from '../db/find-contacts.ts'
import type { ResolveReferences } from '../db/meaning.ts'
import type { Span } from '../db/tracing.ts'
import { type Authenticate, permitted } from './authenticate.ts'
import type { AwaitSettled } from './await-settled.ts'
import { faultIds, type OnFault } from './fault-ids.ts'
import { idempotencyOf, waitSeconds } from './preferences.ts'
import { readBody } from './read-body.ts'
import { isRefusal, type Refusal, refusalResponse } from './refusal.ts'
import { validate } from './validate.ts'

/** What the ingress needs to take submissions in. Everything that has a clock, a store or randomness is handed in. */
export type Ingress = {
  authenticate: Authenticate
  admit: Admit
  enqueue: (job: SubmissionJob) => Promise<void>
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

const BODY_TIMEOUT_MS = 30_000

/** Token → permission → size and content type → validation → idempotency key → rate limit → backlog → queue → answer. */
export const submit = async <O extends Operation, S extends GenericSchema>(
  ingress: Ingress,
  kind: SubmissionKind<O, S>,
  incoming: Incoming,
): Promise<Response> => {
  const outcome = await takeIn(ingress, kind, incoming)
  incoming.span?.set({ 'feedback_insights.operation': kind.operation })
  if (!isRefusal(outcome)) {
    ingress.count({ operation: kind.operation, result: 'accepted' })
    return outcome
  }
  ingress.count({ operation: kind.operation, result: outcome.refused })
  incoming.span?.set({
    'feedback_insights.refused': 'why' in outcome ? `${outcome.refused} ${outcome.why}` : outcome.refused,
  })
  const response = refusalResponse(outcome)
  const limit = ingress.limitOf(kind.operation)
  if (outcome.refused === 'rate-limited' && limit) {
    const { operation } = kind
    describeLimit(response.headers, limit, { operation, remaining: 0, seconds: outcome.retryAfterSeconds })
  }
  return response
}

const takeIn = async <O extends Operation, S extends GenericSchema>(
  ingress: Ingress,
  kind: SubmissionKind<O, S>,
  incoming: Incoming,
): Promise<Response | Refusal> => {
  const { request, token, span } = incoming
  const holder = await ingress.authenticate(token)
  if (isRefusal(holder)) return holder
  const caller = permitted(holder, kind.needs)
  if (isRefusal(caller)) return caller
  span?.set({ 'feedback_insights.workspace.id': caller.workspaceId })

  const maxBytes = kind.operation === 'submit_conversation' ? ingress.maxBytes.conversation : ingress.maxBytes.body
  const read = await readBody(request, { maxBytes, maxDepth: MAX_DEPTH_LEVELS, timeoutMs: BODY_TIMEOUT_MS })
  if (!read.ok) return unreadable(read, maxBytes)
  const validated = validate(kind.schema, storable(read.value))
  if (isRefusal(validated)) return validated
  const idempotency = idempotencyOf(request.headers, read.value, ingress.hashKey)
  if (idempotency && isRefusal(idempotency)) return idempotency

  const draft = {
    version: JOB_VERSION,
    operation: kind.operation,
    workspaceId: caller.workspaceId,
    submissionId: submissionIdNow(),
    number: 0,
    body: validated.valid,
    ...(span && { traceparent: span.traceparent }),
  } as JobOf<O>
  const entering: Entering = { request, draft, lookUp: kind.lookUp?.(ingress, draft) ?? [], idempotency }
  const former = idempotency && (await admit(ingress, { ...entering, peek: true }))
  if (former && isRefusal(former)) return former
  if (former?.outcome === 'repeated') return respond({ ingress, kind, incoming }, draft, former)
  const refusal = await kind.check?.(ingress, draft, request)
  if (refusal) return refusal

  const admission = await admit(ingress, entering)
  if (isRefusal(admission)) return admission
  if (admission.outcome === 'fresh') throw new Error('Only a peek is answered so.')
  if (admission.outcome === 'admitted') {
    const job: JobOf<O> = { ...draft, number: admission.number }
    try {
      await ingress.enqueue(job)
    } catch (error) {
      ingress.onFault('enqueue_failed', error, faultIds(request, job))
      return { refused: 'unavailable', why: 'redis' }
    }
    if (idempotency) {
      // It is queued: a key that cannot be kept now is no reason to confirm nothing.
      await ingress
        .rememberAnswered(job, idempotency)
        .catch((error: unknown) => ingress.onFault('remember_failed', error, faultIds(request, job)))
    }
  }
  return respond({ ingress, kind, incoming }, draft, admission)
}

/** The answer to an admitted submission, or once more to one that was admitted before under the same idempotency key. */
const respond = async <O extends Operation, S extends GenericSchema>(
  { ingress, kind, incoming }: { ingress: Ingress; kind: SubmissionKind<O, S>; incoming: Incoming },
  draft: JobOf<O>,
  admitted: Admitted,
): Promise<Response> => {
  const submissionId = admitted.outcome === 'repeated' ? admitted.submissionId : draft.submissionId
  incoming.span?.set({ 'feedback_insights.submission.id': submissionId })
  const job: JobOf<O> = { ...draft, submissionId, number: admitted.number }
  const { status, body } = await kind.respond(ingress, job, admitted)
  const response = Response.json(body, { status, headers: { 'Submission-Id': submissionId } })
  const limit = ingress.limitOf(kind.operation)
  if (limit && admitted.outcome === 'admitted') {
    const seconds = wholeSeconds(admitted.resetMs)
    describeLimit(response.headers, limit, { operation: kind.operation, remaining: admitted.remaining, seconds })
  }
  const seconds = waitSeconds(incoming.request.headers)
  if (seconds !== undefined) {
    const state = await ingress.awaitSettled({ workspaceId: job.workspaceId, id: submissionId }, seconds * 1_000)
    response.headers.set('Submission-State', state ?? 'queued')
    if (state !== undefined) response.headers.set('Preference-Applied', 'wait')
  }
  return response
}

const unreadable = (read: Exclude<Awaited<ReturnType<typeof readBody>>, { ok: true }>, maxBytes: number): Refusal => {
  switch (read.reason) {
    case 'not-json-type':
      return { refused: 'not-json' }
    case 'too-large':
      return { refused: 'too-large', maxBytes }
    case 'too-slow':
      return { refused: 'too-slow' }
    case 'malformed':
      return { refused: 'invalid', problems: [{ message: read.message, path: read.path }] }
  }
}

type Entering = {
  request: Request
  draft: SubmissionJob
  lookUp: readonly string[]
  idempotency: Idempotency | undefined
  peek?: boolean
}

const admit = async (
  ingress: Ingress,
  { request: asked, draft, lookUp, idempotency, peek = false }: Entering,
): Promise<Admitted | { outcome: 'fresh' } | Refusal> => {
  const { workspaceId, operation, submissionId } = draft
  const limit = ingress.limitOf(operation)
  const pressure = ingress.pressure()
  const realm = { hashKey: ingress.hashKey, workspaceId }
  const request: AdmissionRequest = {
    workspaceId,
    operation,
    submissionId,
    limit,
    idempotency,
    ...(idempotency && { concerns: concernedKeys(realm, draft) }),
    full: pressure !== undefined,
    peek,
    pending: pendingOf(realm, draft),
    lookUp,
  }
  let admission: Admission
  try {
    admission = await ingress.admit(request)
  } catch (error) {
    ingress.onFault('admission_failed', error, faultIds(asked, draft))
    return { refused: 'unavailable', why: 'redis' }
  }
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
    case 'fresh':
      return admission
    case 'full':
      return { refused: 'unavailable', why: pressure ?? 'backlog' }
    case 'rate-limited':
      return {
        refused: 'rate-limited',
        tokens: limit?.tokens ?? 0,
        windowSeconds: (limit?.windowMs ?? 0) / 1_000,
        retryAfterSeconds: wholeSeconds(admission.retryAfterMs),
      }
    case 'in-flight':
      return { refused: 'idempotency-key-in-flight' }
    case 'other-body':
      return { refused: 'idempotency-key-of-other-body' }
  }
}

const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

/** RateLimit-Policy and RateLimit as the IETF draft has them: quota and window, what remains and when the next token is back. */
const describeLimit = (
  headers: Headers,
  { tokens, windowMs }: RateLimit,
  { operation, remaining, seconds }: { operation: Operation; remaining: number; seconds: number },
): void => {
  headers.set('RateLimit-Policy', `"${operation}";q=${tokens};w=${windowMs / 1_000}`)
  headers.set('RateLimit', `"${operation}";r=${remaining};t=${seconds}`)
}

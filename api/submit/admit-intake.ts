import type { Operation } from '../../contract/submission.ts'
import { isFullRedis, isRefusedByRedis } from '../../queue/redis/connect-redis.ts'
import type { Admission, Bucket, LogState } from '../../queue/admission/call-admit.ts'
import { faultIds } from '../request-id.ts'
import type { Refusal, Unavailable } from '../refusal.ts'
import { type Intake, type IntakeDependencies, isRefused, type Refused, type Valid } from './intake.ts'
import { wholeSeconds } from './rate-limit.ts'

/**
 * Refuses a request before its body is read, if its bucket is known to be empty. A request with a
 * key passes, since it may repeat an accepted one.
 */
export const refuseByEmptyBucket = (
  dependencies: IntakeDependencies,
  { kind: { operation }, key, workspaceId }: Intake<'workspaceId'>,
): Refused | undefined => {
  const bucket = dependencies.emptyBuckets.find(workspaceId, operation)
  if (bucket === undefined || key !== null) return undefined
  return { refusal: rateLimited(dependencies, operation, bucket), bucket }
}

/**
 * The checks between validation and admission. With `lookUpKeyFirst` the idempotency key is looked
 * up before admission. Operations with a `checkStored` always look it up first: a repeated purge
 * finds no contact, and `checkStored` would refuse it.
 */
export const check = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid>,
  { lookUpKeyFirst }: { lookUpKeyFirst: boolean },
): Promise<Intake<Valid | 'former'> | Refused> => {
  const { kind, body, idempotency } = intake
  const refusal = kind.checkBody?.(body)
  if (refusal) return { refusal }
  if (!kind.checkStored && !(lookUpKeyFirst && idempotency)) return { ...intake, former: undefined }
  const former = await ask(dependencies, intake, { peek: true })
  if (!isFresh(former)) return { ...intake, former }
  const refusalByStored = await kind.checkStored?.(dependencies, intake, former)
  return refusalByStored ? { refusal: refusalByStored } : { ...intake, former: undefined }
}

/** Checks the idempotency key and the limits and appends to the log, in one script in Redis. */
export const admit = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid | 'former'>,
): Promise<Intake<Valid | 'admitted'> | Refused> => {
  const outcome = intake.former ?? (await ask(dependencies, intake, { peek: false }))
  if (isFresh(outcome)) throw new Error('An admission was answered like a peek.')
  dependencies.emptyBuckets.seen(intake.workspaceId, intake.kind.operation, outcome.bucket)
  return isRefused(outcome) ? outcome : { ...intake, admitted: outcome }
}

type Fresh = { outcome: 'fresh' } & LogState
type Asked = Exclude<Intake<'former'>['former'], undefined> | Fresh

const isFresh = (outcome: Asked): outcome is Fresh => 'outcome' in outcome && outcome.outcome === 'fresh'

const ask = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid>,
  { peek }: { peek: boolean },
): Promise<Asked> => {
  const { request, span, kind, workspaceId, body, idempotency } = intake
  const pressure = dependencies.pressure()
  try {
    const admission = await dependencies.admit({
      workspaceId,
      operation: kind.operation,
      bodyText: peek ? '' : JSON.stringify(body),
      traceparent: span?.traceparent,
      limit: dependencies.limitOf(kind.operation),
      idempotency,
      full: pressure !== undefined,
      peek,
    })
    return askedOf(dependencies, admission, { operation: kind.operation, pressure })
  } catch (error) {
    if (OUR_OWN.some((fault) => error instanceof fault)) throw error
    dependencies.onFault('admission_failed', error, faultIds(request, { workspaceId }))
    return { refusal: { refused: 'unavailable', why: whyUnavailable(error) } }
  }
}

/** Errors of our own code, which do not mean that Redis is away or full. */
const OUR_OWN = [TypeError, RangeError, ReferenceError]

const whyUnavailable = (error: unknown): Unavailable['why'] => {
  if (isFullRedis(error)) return 'redis-memory'
  return isRefusedByRedis(error) ? 'redis-refuses' : 'redis'
}

type Circumstances = { operation: Operation; pressure: ReturnType<IntakeDependencies['pressure']> }

const askedOf = (
  dependencies: IntakeDependencies,
  admission: Admission,
  { operation, pressure }: Circumstances,
): Asked => {
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
    case 'fresh':
      return admission
    case 'full':
      return { refusal: { refused: 'unavailable', why: pressure ?? 'workspace-backlog' }, bucket: admission.bucket }
    case 'unreplicated':
      return { refusal: { refused: 'unavailable', why: 'redis-replicas' }, bucket: admission.bucket }
    case 'rate-limited':
      return { refusal: rateLimited(dependencies, operation, admission.bucket), bucket: admission.bucket }
    case 'other-body':
      return { refusal: { refused: 'idempotency-key-of-other-body' }, bucket: admission.bucket }
  }
}

const rateLimited = ({ limitOf }: IntakeDependencies, operation: Operation, bucket: Bucket | undefined): Refusal => {
  const { tokens = 0, windowMs = 0 } = limitOf(operation) ?? {}
  const retryAfterSeconds = wholeSeconds(bucket?.resetMs ?? windowMs)
  return { refused: 'rate-limited', tokens, windowSeconds: windowMs / 1_000, retryAfterSeconds }
}

import { Buffer } from 'node:buffer'
import { isProgrammingError } from '../../runtime/fault.ts'
import { isFullRedis, isRefusedByRedis } from '../../queue/redis/refusal-of-redis.ts'
import type { Admission, Judgement } from '../../queue/admission/call-admit.ts'
import { faultIds } from '../http/request-id.ts'
import type { Unavailable } from '../http/refusal.ts'
import { type Intake, type IntakeDependencies, isRefusedIntake, type RefusedIntake, type Valid } from './intake.ts'
import { rateLimited } from './rate-limit.ts'

/**
 * The checks of the operation. `lookUpKeyFirst` also looks up the idempotency key. An operation
 * with `refuseByStored` always looks up its key first: a repeated purge finds no contact, and
 * `refuseByStored` would refuse it.
 */
export const checkBeforeAdmission = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid>,
  { lookUpKeyFirst }: { lookUpKeyFirst: boolean },
): Promise<Intake<Valid | 'judged'> | RefusedIntake> => {
  const { kind, body, idempotency } = intake
  const refusal = kind.refuseBody?.(body)
  if (refusal) return { refusal }
  if (!kind.refuseByStored && !(lookUpKeyFirst && idempotency)) return { ...intake, judged: undefined }
  const judged = await requestAdmission(dependencies, { ...intake, judged: undefined }, { isJudgedOnly: true })
  if (isRefusedIntake(judged)) return judged
  const refusalByStored = hasUnusedKey(judged) && (await kind.refuseByStored?.(dependencies, intake, judged))
  return refusalByStored ? { refusal: refusalByStored } : { ...intake, judged }
}

const hasUnusedKey = (judged: Admission): judged is Judgement => {
  switch (judged.outcome) {
    case 'rate-limited':
    case 'full':
    case 'admissible':
      return true
    case 'admitted':
    case 'repeated':
    case 'other-body':
    case 'unreplicated':
      return false
  }
}

/**
 * Admits an intake, unless the look-up of its key has decided already. One script in Redis checks
 * the key and the limits, and appends to the log.
 */
export const admitIntake = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid | 'judged'>,
): Promise<Intake<Valid | 'admitted'> | RefusedIntake> => {
  const pressure = dependencies.pressure.current()
  // Under pressure, a known key and the rate limit still decide before the 503.
  const admission = await requestAdmission(dependencies, intake, { isJudgedOnly: pressure !== undefined })
  if (isRefusedIntake(admission)) return admission
  const { operation } = intake.kind
  const { bucket } = admission
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
      return { ...intake, admitted: admission }
    case 'full':
    case 'admissible':
      return { refusal: { refused: 'unavailable', why: pressure ?? 'workspace-log-full' }, bucket }
    case 'unreplicated':
      return { refusal: { refused: 'unavailable', why: 'redis-replicas' }, bucket }
    case 'rate-limited':
      return { refusal: rateLimited(dependencies, operation, bucket), bucket }
    case 'other-body':
      return { refusal: { refused: 'idempotency-key-of-other-body' }, bucket }
  }
}

const requestAdmission = async (
  dependencies: IntakeDependencies,
  { request, span, kind, workspaceId, body, idempotency, judged }: Intake<Valid | 'judged'>,
  { isJudgedOnly }: { isJudgedOnly: boolean },
): Promise<Admission | RefusedIntake> => {
  const bodyText = isJudgedOnly ? '' : JSON.stringify(body)
  try {
    const admission = await dependencies.admit({
      workspaceId,
      operation: kind.operation,
      bodyText,
      traceparent: span?.traceparent,
      limit: dependencies.limitOf(kind.operation),
      idempotency,
      mostBytes: dependencies.pressure.bytesLeft(),
      isJudgedOnly,
      judged,
    })
    // The bucket of an earlier call was remembered when it was read.
    if (admission !== judged) dependencies.emptyBuckets.remember(workspaceId, kind.operation, admission.bucket)
    if (admission.outcome === 'admitted') dependencies.pressure.added(Buffer.byteLength(bodyText))
    return admission
  } catch (error) {
    if (isProgrammingError(error)) throw error
    dependencies.onFault('admission_failed', error, faultIds(request, { workspaceId }))
    return { refusal: { refused: 'unavailable', why: whyUnavailable(error) } }
  }
}

const whyUnavailable = (error: unknown): Unavailable['why'] => {
  if (isFullRedis(error)) return 'redis-memory'
  return isRefusedByRedis(error) ? 'redis-refuses' : 'redis'
}

import { Buffer } from 'node:buffer'
import type { Operation } from '../../contract/submission.ts'
import { isProgrammingError } from '../../runtime/fault.ts'
import { isFullRedis, isRefusedByRedis } from '../../queue/redis/connect-redis.ts'
import type { Admission, LogState } from '../../queue/admission/call-admit.ts'
import { faultIds } from '../request-id.ts'
import type { Unavailable } from '../refusal.ts'
import {
  type Admitted,
  type Intake,
  type IntakeDependencies,
  isRefusedIntake,
  type RefusedIntake,
  type Valid,
} from './intake.ts'
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
): Promise<Intake<Valid | 'former'> | RefusedIntake> => {
  const { kind, body, idempotency } = intake
  const refusal = kind.refuseBody?.(body)
  if (refusal) return { refusal }
  if (!kind.refuseByStored && !(lookUpKeyFirst && idempotency)) return { ...intake, former: undefined }
  const former = await requestAdmission(dependencies, intake, { mode: 'peek' })
  if (!isFresh(former)) return { ...intake, former }
  const refusalByStored = await kind.refuseByStored?.(dependencies, intake, former)
  return refusalByStored ? { refusal: refusalByStored } : { ...intake, former: 'unused-key' }
}

/**
 * Admits an intake, unless the look-up of its key has decided already. One script in Redis checks
 * the key and the limits, and appends to the log.
 */
export const admitIntake = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid | 'former'>,
): Promise<Intake<Valid | 'admitted'> | RefusedIntake> => {
  const { former } = intake
  const isKeyUnused = former === 'unused-key'
  const isDecided = former !== undefined && !isKeyUnused
  const outcome = isDecided ? former : await requestAdmission(dependencies, intake, { isKeyUnused })
  if (isFresh(outcome)) throw new Error('An admission was answered like a peek.')
  dependencies.emptyBuckets.remember(intake.workspaceId, intake.kind.operation, outcome.bucket)
  return isRefusedIntake(outcome) ? outcome : { ...intake, admitted: outcome }
}

type Fresh = { outcome: 'fresh' } & LogState
type AdmissionResult = Admitted | RefusedIntake | Fresh

const isFresh = (outcome: AdmissionResult): outcome is Fresh => 'outcome' in outcome && outcome.outcome === 'fresh'

const requestAdmission = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid>,
  { mode, isKeyUnused }: { mode?: 'peek'; isKeyUnused?: boolean },
): Promise<AdmissionResult> => {
  const { request, span, kind, workspaceId, body, idempotency } = intake
  const pressure = dependencies.pressure.current()
  const bodyText = mode === 'peek' ? '' : JSON.stringify(body)
  try {
    const admission = await dependencies.admit({
      workspaceId,
      operation: kind.operation,
      bodyText,
      traceparent: span?.traceparent,
      limit: dependencies.limitOf(kind.operation),
      idempotency,
      ...(isKeyUnused !== undefined && { isKeyUnused }),
      mostBytes: dependencies.pressure.bytesLeft(),
      // Under pressure, a known key and the rate limit still decide before the 503.
      mode: mode ?? (pressure && 'judge'),
    })
    if (admission.outcome === 'admitted') dependencies.pressure.added(Buffer.byteLength(bodyText))
    return resultOf(dependencies, admission, { operation: kind.operation, pressure })
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

type Circumstances = { operation: Operation; pressure: ReturnType<IntakeDependencies['pressure']['current']> }

const resultOf = (
  dependencies: IntakeDependencies,
  admission: Admission,
  { operation, pressure }: Circumstances,
): AdmissionResult => {
  switch (admission.outcome) {
    case 'admitted':
    case 'repeated':
    case 'fresh':
      return admission
    case 'full':
    case 'admissible':
      return { refusal: { refused: 'unavailable', why: pressure ?? 'workspace-log-full' }, bucket: admission.bucket }
    case 'unreplicated':
      return { refusal: { refused: 'unavailable', why: 'redis-replicas' }, bucket: admission.bucket }
    case 'rate-limited':
      return { refusal: rateLimited(dependencies, operation, admission.bucket), bucket: admission.bucket }
    case 'other-body':
      return { refusal: { refused: 'idempotency-key-of-other-body' }, bucket: admission.bucket }
  }
}

import { IDEMPOTENCY_KEY } from '../../contract/batch-request.ts'
import { checkBody, replaceUnstorable } from '../../contract/check-body.ts'
import { asUuid } from '../../contract/identity/keys.ts'
import { isJsonObject } from '../../contract/json.ts'
import { idempotencyOf } from '../../queue/admission/idempotency.ts'
import { callerOf } from '../authenticate.ts'
import type { Arrival } from '../http/arrival.ts'
import { isRefusal, type Refusal, refusalResponse } from '../http/refusal.ts'
import { admitIntake, checkBeforeAdmission } from './admit-intake.ts'
import { setLimitHeaders, refuseByEmptyBucket } from './rate-limit.ts'
import {
  type AnySubmissionKind,
  type Intake,
  type IntakeDependencies,
  type IntakeOutcome,
  isRefusedIntake,
  type RefusedIntake,
  type Valid,
} from './intake.ts'
import { jsonAnswer } from '../http/json-answer.ts'
import { isStrict, waitSeconds } from '../http/request-headers.ts'
import { mostBytesOf, parseBody, receiveBody } from '../http/read-body.ts'

type AcceptedIntake = Intake<Valid | 'admitted'>

/**
 * The steps: token → permission → a bucket that is known to be empty → size and content type →
 * validation → idempotency key → stored data (purge) → rate limit → pressure → log → answer.
 */
export const submit = async (
  dependencies: IntakeDependencies,
  kind: AnySubmissionKind,
  arrival: Arrival & { target?: string | undefined },
): Promise<Response> => {
  const { headers } = arrival.request
  const intake: Intake = { ...arrival, kind, key: headers.get('idempotency-key'), ...targetOf(arrival) }
  const permitted = await permit(dependencies, intake)
  const outcome = isRefusedIntake(permitted) ? permitted : await accept(dependencies, permitted)
  dependencies.count(outcomeOf(kind.operation, outcome))
  arrival.span?.set({ 'feedback_insights.operation': kind.operation, ...refusedAttribute(outcome) })
  const { bucket } = isRefusedIntake(outcome) ? outcome : outcome.admitted
  const response = isRefusedIntake(outcome)
    ? refusalResponse(outcome.refusal)
    : await acceptedResponse(dependencies, outcome)
  // Only a permitted caller learns the limits.
  if (isRefusedIntake(permitted)) return response
  const limit = dependencies.limitOf(kind.operation)
  if (limit) setLimitHeaders(response.headers, limit, { operation: kind.operation, bucket })
  if (isStrict(headers)) response.headers.append('Preference-Applied', 'handling=strict')
  return response
}

const targetOf = ({ target }: { target?: string | undefined }) => ({
  target: target === undefined ? undefined : (asUuid(target) ?? null),
})

const permit = async (
  { authenticate }: IntakeDependencies,
  intake: Intake,
): Promise<Intake<'workspaceId'> | RefusedIntake> => {
  const caller = await callerOf(authenticate, intake, intake.kind.needs)
  if (isRefusal(caller)) return { refusal: caller }
  return intake.target === null ? { refusal: { refused: 'no-such-record' } } : { ...intake, ...caller }
}

/** The steps after permission. */
const accept = async (
  dependencies: IntakeDependencies,
  intake: Intake<'workspaceId'>,
): Promise<AcceptedIntake | RefusedIntake> =>
  refuseByEmptyBucket(dependencies, intake) ??
  (intake.kind.hasNoBody ? acceptValue(dependencies, { ...intake, value: {} }) : acceptWithBody(dependencies, intake))

const acceptWithBody = (
  dependencies: IntakeDependencies,
  intake: Intake<'workspaceId'>,
): Promise<AcceptedIntake | RefusedIntake> =>
  withBody(dependencies, { ...intake, maxBytes: maxBytesOf(dependencies, intake) }, (bytes) =>
    acceptBody(dependencies, intake, bytes),
  )

export const maxBytesOf = ({ maxBytes }: IntakeDependencies, { kind }: Intake): number =>
  kind.operation === 'submit_conversation' ? maxBytes.conversation : maxBytes.body

/** From 4 KiB on, a body of many submissions counts as large. */
const WEIGHT_OF_MANY = 16

type ReceivedBody = { request: Request; workspaceId: string; maxBytes: number; isOfMany?: boolean }

/**
 * Does the work with the received body, which counts as in hand until the work ends. The work must
 * not include the answer, which can wait for long. `isOfMany`: the body holds many submissions, and
 * each of them takes far more memory than its bytes, so the body weighs more.
 */
export const withBody = async <T>(
  { bodies }: IntakeDependencies,
  { request, workspaceId, maxBytes, isOfMany = false }: ReceivedBody,
  work: (bytes: Uint8Array) => Promise<T>,
): Promise<T | RefusedIntake> => {
  const done = await bodies.whenBytesFit({ workspaceId, bytes: mostBytesOf(request, maxBytes) }, async () => {
    const bytes = await receiveBody(request, maxBytes)
    if (isRefusal(bytes)) return { refusal: bytes }
    const size = bytes.byteLength * (isOfMany ? WEIGHT_OF_MANY : 1)
    return bodies.oneLargeAtATime({ workspaceId, bytes: size }, () => work(bytes))
  })
  return done ?? { refusal: { refused: 'unavailable', why: 'bodies-in-hand' } }
}

const acceptBody = async (
  dependencies: IntakeDependencies,
  intake: Intake<'workspaceId'>,
  bytes: Uint8Array,
): Promise<AcceptedIntake | RefusedIntake> => {
  const parsed = parseBody(bytes)
  if (isRefusal(parsed)) return { refusal: parsed }
  return acceptValue(dependencies, { ...intake, ...parsed })
}

const acceptValue = async (
  dependencies: IntakeDependencies,
  intake: Intake<'workspaceId' | 'value'>,
): Promise<AcceptedIntake | RefusedIntake> => {
  const { target, value } = intake
  const named = target != null && isJsonObject(value) ? { ...value, id: target } : value
  const valid = validate(dependencies, { ...intake, value: named })
  if (isRefusedIntake(valid)) return valid
  const checked = await checkBeforeAdmission(dependencies, valid, { lookUpKeyFirst: false })
  if (isRefusedIntake(checked)) return checked
  return (await dependencies.canStillAnswer(intake.request))
    ? admitIntake(dependencies, checked)
    : { refusal: BROKEN_OFF }
}

/** Validates the parsed body, then the idempotency key. */
export const validate = (
  { hashKey }: Pick<IntakeDependencies, 'hashKey'>,
  intake: Intake<'workspaceId' | 'value'>,
): Intake<Valid> | RefusedIntake => {
  const { request, kind, key, value, mostProblems } = intake
  const options = { isStrict: isStrict(request.headers), most: mostProblems }
  const checked = checkBody(kind.schema, replaceUnstorable(value), options)
  if ('problems' in checked) return { refusal: { refused: 'invalid', problems: checked.problems } }
  const body = checked.valid
  if (key === null) return { ...intake, body, idempotency: undefined }
  if (!IDEMPOTENCY_KEY.test(key)) return { refusal: INVALID_KEY }
  const idempotency = idempotencyOf(hashKey, { operation: kind.operation, key, bodyText: JSON.stringify(value) })
  return { ...intake, body, idempotency }
}

const INVALID_KEY: Refusal = {
  refused: 'invalid',
  problems: [
    { message: 'The header Idempotency-Key must be 1 to 255 visible ASCII characters', path: 'Idempotency-Key' },
  ],
}

/** No client gets this answer: the runtime has sent its own answer or closed the connection. */
export const BROKEN_OFF: Refusal = {
  refused: 'invalid',
  problems: [{ message: 'The body must end the request: send nothing after it', path: '' }],
}

const acceptedResponse = async (dependencies: IntakeDependencies, accepted: AcceptedIntake): Promise<Response> => {
  const waits = waitsOf(accepted)
  // Only the text is kept while the answer waits: the parsed body takes several times its memory.
  const { status, submissionId, text } = await answerText(dependencies, accepted)
  const { workspaceId, span } = accepted
  span?.set({ 'feedback_insights.submission.id': submissionId })
  const [state] = waits
    ? await dependencies.awaitFinished({
        workspaceId,
        submissionIds: [submissionId],
        bytes: text.length,
        ms: waits.msLeft(),
      })
    : []
  const response = jsonAnswer(dependencies.bodies, text, {
    workspaceId,
    status,
    headers: { 'Submission-Id': submissionId },
  })
  if (waits) response.headers.set('Submission-State', state ?? 'queued')
  if (state !== undefined) response.headers.set('Preference-Applied', 'wait')
  return response
}

const MS_PER_SECOND = 1_000

/**
 * The time that is left of `Prefer: wait`; undefined without this preference. The answer to a purge
 * waits as well, for the decision, and this counts.
 */
export const waitsOf = ({ request }: Pick<Intake, 'request'>): { msLeft: () => number } | undefined => {
  const seconds = waitSeconds(request.headers)
  if (seconds === undefined) return undefined
  const until = performance.now() + seconds * MS_PER_SECOND
  return { msLeft: () => Math.max(0, until - performance.now()) }
}

/** The answer to an accepted submission. */
export const answerText = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid | 'admitted'>,
): Promise<{ status: number; submissionId: string; text: string }> => {
  const { status, body } = await intake.kind.answer(dependencies, intake)
  return { status, submissionId: intake.admitted.submissionId, text: JSON.stringify(body) }
}

/** The outcome of a requested operation, for the metrics. */
export const outcomeOf = (operation: IntakeOutcome['operation'], outcome: object): IntakeOutcome => {
  const refusal = isRefusedIntake(outcome) ? outcome.refusal : undefined
  return {
    operation,
    result: refusal?.refused ?? 'accepted',
    ...(refusal && 'why' in refusal && { why: refusal.why }),
  }
}

/** The reason of a refusal, for the trace. */
export const refusedAttribute = (outcome: object): Record<string, string> => {
  const refusal = isRefusedIntake(outcome) ? outcome.refusal : undefined
  if (refusal === undefined) return {}
  return { 'feedback_insights.refused': 'why' in refusal ? `${refusal.refused} ${refusal.why}` : refusal.refused }
}

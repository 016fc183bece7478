import { Buffer } from 'node:buffer'
import * as v from 'valibot'
import { type Batchable, batchItem, batchRequest } from '../../contract/batch-request.ts'
import { about } from '../../contract/fields.ts'
import type { JsonValue } from '../../contract/json.ts'
import { MAX_BATCH_BODY_BYTES, MAX_DEPTH_LEVELS, MAX_REPORTED_PROBLEMS } from '../../contract/limits.ts'
import { checkBody } from '../../contract/check-body.ts'
import { submissionState } from '../../contract/receipt.ts'
import { type Caller, callerOf } from '../authenticate.ts'
import { anyObject } from '../../contract/record-schemas.ts'
import type { Arrival } from '../http/arrival.ts'
import { isRefusal, type Refusal, refusalAnswer, refusalResponse } from '../http/refusal.ts'
import { admitIntake, checkBeforeAdmission } from './admit-intake.ts'
import {
  answerText,
  BROKEN_OFF,
  maxBytesOf,
  outcomeOf,
  refusedAttribute,
  validate,
  waitsOf,
  withBody,
} from './submit.ts'
import {
  type AnySubmissionKind,
  type Intake,
  type IntakeDependencies,
  isRefusedIntake,
  type RefusedIntake,
  type Valid,
} from './intake.ts'
import { jsonAnswer } from '../http/json-answer.ts'
import { refuseByEmptyBucket } from './rate-limit.ts'
import { isStrict } from '../http/request-headers.ts'
import { parseBody } from '../http/read-body.ts'
import { inTurns } from '../http/take-turn.ts'

/** In the answer to a single submission, the members between `status` and `body` are headers. */
export const batchResult = about(
  v.object({
    status: about(v.pipe(v.number(), v.integer()), 'The status of the answer.'),
    submissionId: about(
      v.exactOptional(v.pipe(v.string(), v.uuid())),
      'Id of the accepted submission, for `GET /submissions/{id}`.',
    ),
    state: v.exactOptional(submissionState),
    retryAfter: about(
      v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
      'Whole seconds after which to send the item again.',
    ),
    body: anyObject('The body of the answer.'),
  }),
  'The answer that the item would have got as a request of its own.',
)
export type BatchResult = v.InferOutput<typeof batchResult>

type BatchKinds = Readonly<Record<Batchable, AnySubmissionKind>>
/**
 * `problemsLeft`: how many more problems the answer may report. If none is left, a refused item
 * still reports one.
 */
type Batch = Arrival & Caller & { kinds: BatchKinds; problemsLeft: number }
type ItemOutcome = Intake<Valid | 'admitted'> | RefusedIntake

/**
 * POST /batch. Handles each item like a request of its own. Accepts the items in their order, and
 * answers them together.
 */
export const submitBatch = async (
  dependencies: IntakeDependencies,
  kinds: BatchKinds,
  arrival: Arrival,
): Promise<Response> => {
  const caller = await callerOf(dependencies.authenticate, arrival, 'submit')
  if (isRefusal(caller)) return refused(dependencies, arrival, { refusal: caller })
  const { workspaceId } = caller
  const batch = { ...arrival, workspaceId, kinds, problemsLeft: MAX_REPORTED_PROBLEMS }
  const outcome = await withBody(dependencies, { ...batch, maxBytes: MAX_BATCH_BODY_BYTES, isOfMany: true }, (bytes) =>
    acceptItems(dependencies, batch, bytes),
  )
  if (isRefusedIntake(outcome)) return refused(dependencies, arrival, outcome)
  arrival.span?.set({ 'feedback_insights.operation': 'batch' })
  const results = await resultTexts(dependencies, batch, outcome)
  const response = jsonAnswer(dependencies.bodies, `{"results":[${results.join()}]}`, { workspaceId, status: 200 })
  if (isStrict(arrival.request.headers)) response.headers.set('Preference-Applied', 'handling=strict')
  return response
}

const refused = ({ count }: IntakeDependencies, { span }: Arrival, outcome: RefusedIntake): Response => {
  span?.set({ 'feedback_insights.operation': 'batch', ...refusedAttribute(outcome) })
  count(outcomeOf('batch', outcome))
  return refusalResponse(outcome.refusal)
}

/** The batch, its `items` and the item enclose a body. */
const LEVELS_AROUND = 3

const acceptItems = async (
  dependencies: IntakeDependencies,
  batch: Batch,
  bytes: Uint8Array,
): Promise<ItemOutcome[] | RefusedIntake> => {
  const { headers } = batch.request
  if (headers.has('idempotency-key')) return { refusal: KEY_OF_BATCH }
  const parsed = parseBody(bytes, MAX_DEPTH_LEVELS + LEVELS_AROUND)
  if (isRefusal(parsed)) return { refusal: parsed }
  const checked = checkBody(batchRequest, parsed.value, { isStrict: isStrict(headers) })
  if ('problems' in checked) return { refusal: { refused: 'invalid', problems: checked.problems } }
  const items = await inTurns(checked.valid.items as JsonValue[], (item) => checkItem(dependencies, batch, item))
  if (!(await dependencies.canStillAnswer(batch.request))) return { refusal: BROKEN_OFF }
  const outcomes: ItemOutcome[] = []
  for (const group of groupsOf(items)) {
    outcomes.push(...(await inTurns(group, (item) => admitItem(dependencies, item))))
  }
  outcomes.forEach((outcome, at) => dependencies.count(outcomeOf(items[at]!.operation ?? 'batch', outcome)))
  return outcomes
}

const KEY_OF_BATCH: Refusal = {
  refused: 'invalid',
  problems: [
    {
      message: 'Idempotency-Key does not apply to a batch: give each item an idempotencyKey instead',
      path: 'Idempotency-Key',
    },
  ],
}

/** An item before its admission. `operation` is undefined if the item itself is malformed. */
type CheckedItem = {
  operation: Batchable | undefined
  bytes: number
  checked: Intake<Valid | 'judged'> | RefusedIntake
}

const checkItem = async (dependencies: IntakeDependencies, batch: Batch, item: JsonValue): Promise<CheckedItem> => {
  const { kinds, problemsLeft, ...permitted } = batch
  const mostProblems = Math.max(1, problemsLeft)
  const wrapper = checkBody(batchItem, item, { isStrict: isStrict(batch.request.headers), most: mostProblems })
  if ('problems' in wrapper) {
    const checked = countProblems(batch, { refusal: { refused: 'invalid', problems: wrapper.problems } })
    return { operation: undefined, bytes: 0, checked }
  }
  const { operation, body: value, idempotencyKey: key = null } = wrapper.valid
  const bytes = Buffer.byteLength(JSON.stringify(value))
  const intake = { ...permitted, kind: kinds[operation], key, value, mostProblems }
  const valid = validateItem(dependencies, intake, bytes)
  if (isRefusedIntake(valid)) return { operation, bytes, checked: countProblems(batch, valid) }
  // All keys are looked up before the first admission: a look-up between two admissions would let
  // the later item overtake the earlier one.
  return { operation, bytes, checked: await checkBeforeAdmission(dependencies, valid, { lookUpKeyFirst: true }) }
}

/**
 * Counts the problems of a refused item: all items together may report as many as one submission.
 */
const countProblems = (batch: Batch, refusedItem: RefusedIntake): RefusedIntake => {
  const { refusal } = refusedItem
  if (refusal.refused === 'invalid') batch.problemsLeft -= refusal.problems.length
  return refusedItem
}

const validateItem = (
  dependencies: IntakeDependencies,
  intake: Intake<'workspaceId' | 'value'>,
  bytes: number,
): Intake<Valid> | RefusedIntake => {
  const limited = refuseByEmptyBucket(dependencies, intake)
  if (limited) return limited
  const maxBytes = maxBytesOf(dependencies, intake)
  if (bytes > maxBytes) return { refusal: { refused: 'too-large', maxBytes } }
  return validate(dependencies, intake)
}

/** A larger item may be sent to Redis in several steps, and later items would overtake it. */
const SENT_TOGETHER_BYTES = 4 * 1024

/**
 * Splits the items into groups. The items of a group keep their order when they are admitted at the
 * same time. A large item is a group of its own.
 */
const groupsOf = (items: readonly CheckedItem[]): CheckedItem[][] => {
  const groups: CheckedItem[][] = []
  let isOpen = false
  for (const item of items) {
    const isLarge = item.bytes > SENT_TOGETHER_BYTES && !isRefusedIntake(item.checked)
    if (isLarge || !isOpen) groups.push([])
    groups.at(-1)!.push(item)
    isOpen = !isLarge
  }
  return groups
}

const admitItem = async (dependencies: IntakeDependencies, { checked }: CheckedItem): Promise<ItemOutcome> =>
  isRefusedIntake(checked) ? checked : admitIntake(dependencies, checked)

type Result = { head: Omit<BatchResult, 'body'>; body: string }

/** The results as JSON. Only texts are kept while the answer waits. */
const resultTexts = async (
  dependencies: IntakeDependencies,
  { request, workspaceId }: Batch,
  outcomes: readonly ItemOutcome[],
): Promise<string[]> => {
  const waits = waitsOf({ request })
  const results = await inTurns(outcomes, (outcome) => resultOf(dependencies, outcome))
  const accepted = results.filter(({ head }) => head.submissionId !== undefined)
  if (waits) {
    const states = await dependencies.awaitFinished({
      workspaceId,
      submissionIds: accepted.map(({ head }) => head.submissionId!),
      bytes: results.reduce((sum, { body }) => sum + body.length, 0),
      ms: waits.msLeft(),
    })
    accepted.forEach(({ head }, at) => (head.state = states[at] ?? 'queued'))
  }
  return results.map(({ head, body }) => `${JSON.stringify(head).slice(0, -1)},"body":${body}}`)
}

const resultOf = async (dependencies: IntakeDependencies, outcome: ItemOutcome): Promise<Result> => {
  if (isRefusedIntake(outcome)) return refusedResult(outcome.refusal)
  const { status, submissionId, text } = await answerText(dependencies, outcome)
  return { head: { status, submissionId }, body: text }
}

const refusedResult = (refusal: Refusal): Result => {
  const { status, body, headers } = refusalAnswer(refusal)
  const retryAfter = headers['Retry-After']
  return {
    head: { status, ...(retryAfter !== undefined && { retryAfter: Number(retryAfter) }) },
    body: JSON.stringify(body),
  }
}

import { type Batchable, batchItem, batchRequest, BATCHABLE } from '../../contract/batch-request.ts'
import type { JsonValue } from '../../contract/json.ts'
import { MAX_BATCH_BODY_BYTES } from '../../contract/limits.ts'
import { checkBody } from '../../contract/problem.ts'
import { QUEUE_OF } from '../../contract/job.ts'
import type { SubmissionState } from '../../contract/receipt.ts'
import { type Caller, callerOf } from '../authenticate.ts'
import type { Incoming } from '../incoming.ts'
import type { AnySubmissionKind } from '../operations/submission-kind.ts'
import { isRefusal, type Refusal, refusalResponse } from '../refusal.ts'
import {
  type Accepted,
  admit,
  answerTo,
  type Candidate,
  candidateOf,
  countOf,
  knownToBeLimited,
  type NotAccepted,
} from './candidate.ts'
import type { Ingress } from './ingress.ts'
import { isStrict } from './preferences.ts'
import { mostBytesOf } from './read-body.ts'
import { parseSubmission, readSubmission, receiveSubmission } from './read-submission.ts'
import { BROKEN_OFF, refusedAttribute } from './submit.ts'

/**
 * What an operation by itself would have answered. `submissionId` and `retryAfter` (seconds) would be in its headers, `state` as well, if
 * waiting was asked for.
 */
export type BatchResult = {
  status: number
  submissionId?: string
  state?: SubmissionState
  retryAfter?: number
  body: object
}
export type BatchAnswer = { results: BatchResult[] }

export type BatchKinds = Readonly<Record<Batchable, AnySubmissionKind>>
type Batch = { ingress: Ingress; kinds: BatchKinds; incoming: Incoming; caller: Caller }

/** POST /batch: each item goes the way of its operation. They are accepted in their order, and answered together. */
export const submitBatch = async (ingress: Ingress, kinds: BatchKinds, incoming: Incoming): Promise<Response> => {
  const caller = await callerOf(ingress.authenticate, incoming, 'submit')
  const outcome = isRefusal(caller) ? caller : await accept({ ingress, kinds, incoming, caller })
  const refusal = isRefusal(outcome) ? outcome : undefined
  incoming.span?.set({ 'feedback_insights.operation': 'batch', ...refusedAttribute(refusal) })
  if (isRefusal(outcome)) {
    ingress.count(countOf('batch', outcome))
    return refusalResponse(outcome)
  }
  const results = await Promise.all(outcome.map(resultOf))
  const response = Response.json({ results } satisfies BatchAnswer)
  if (isStrict(incoming.request.headers)) response.headers.set('Preference-Applied', 'handling=strict')
  return response
}

const accept = async (batch: Batch): Promise<(Accepted | NotAccepted)[] | Refusal> => {
  const { ingress, incoming, caller } = batch
  const inHand = { workspaceId: caller.workspaceId, bytes: mostBytesOf(incoming.request, MAX_BATCH_BODY_BYTES) }
  const decided = await ingress.bodies.hold(inHand, async () => {
    const received = await receiveSubmission(incoming.request, MAX_BATCH_BODY_BYTES)
    if (isRefusal(received)) return received
    const body = { workspaceId: caller.workspaceId, bytes: received.byteLength }
    return ingress.bodies.inTurn(body, () => acceptItems(batch, received))
  })
  return decided ?? { refused: 'unavailable', why: 'bodies-in-hand' }
}

/** A batch, its items and an item are around a body. */
const LEVELS_AROUND = 3

const acceptItems = async (batch: Batch, bytes: Uint8Array): Promise<(Accepted | NotAccepted)[] | Refusal> => {
  const { headers } = batch.incoming.request
  if (headers.has('idempotency-key')) return KEY_OF_BATCH
  const parsed = parseSubmission(bytes, { maxBytes: MAX_BATCH_BODY_BYTES, levelsAround: LEVELS_AROUND })
  if (isRefusal(parsed)) return parsed
  const checked = checkBody(batchRequest, parsed.value, { isStrict: isStrict(headers) })
  if ('problems' in checked) return { refused: 'invalid', problems: checked.problems }
  const items = await Promise.all(checked.valid.items.map((item) => checkItem(batch, item as JsonValue)))
  if (!(await batch.ingress.isWhole(batch.incoming.request))) return BROKEN_OFF
  const outcomes: (Accepted | NotAccepted)[] = []
  for (const wave of wavesOf(items)) {
    outcomes.push(...(await Promise.all(wave.map(admitItem))))
  }
  outcomes.forEach((outcome, at) => countItem(batch.ingress, items[at]!, outcome))
  return outcomes
}

const KEY_OF_BATCH: Refusal = {
  refused: 'invalid',
  problems: [
    {
      message: 'Idempotency-Key is for one submission: give each item an idempotencyKey instead',
      path: 'Idempotency-Key',
    },
  ],
}

/** What an item came to before admission. A refusal knows no operation where the item does not say it. */
type ItemRefused = NotAccepted & { operation?: Batchable }
type CheckedItem = { candidate: Candidate; isLarge: boolean }

const checkItem = async (batch: Batch, item: JsonValue): Promise<CheckedItem | ItemRefused> => {
  const { ingress, kinds, incoming, caller } = batch
  const strictly = isStrict(incoming.request.headers)
  const around = checkBody(batchItem, item, { isStrict: strictly })
  if ('problems' in around) return { refusal: { refused: 'invalid', problems: around.problems } }
  const { operation, body, idempotencyKey: key = null } = around.valid
  const visit = { ingress, kind: kinds[operation], incoming, caller, isKeyed: key !== null }
  const limited = knownToBeLimited(visit)
  if (limited) return { ...limited, operation }
  const bytes = Buffer.byteLength(JSON.stringify(body))
  const maxBytes = operation === 'submit_conversation' ? ingress.maxBytes.conversation : ingress.maxBytes.body
  if (bytes > maxBytes) return { refusal: { refused: 'too-large', maxBytes }, operation }
  const { hashKey } = ingress
  const read = readSubmission(body, { schema: BATCHABLE[operation], operation, key, isStrict: strictly, hashKey })
  if (isRefusal(read)) return { refusal: read, operation }
  const candidate = await candidateOf(visit, read, { asksFormer: true })
  return 'refusal' in candidate ? { ...candidate, operation } : { candidate, isLarge: bytes > SENT_TOGETHER_BYTES }
}

/** Redis is asked about what is larger in several steps, and what comes behind it would overtake it. */
const SENT_TOGETHER_BYTES = 4 * 1024

/** Items that follow one another and keep their order when Redis is asked about them at once: those of one queue. */
const wavesOf = (items: readonly (CheckedItem | ItemRefused)[]): (CheckedItem | ItemRefused)[][] => {
  const waves: (CheckedItem | ItemRefused)[][] = []
  let before: string | undefined
  for (const item of items) {
    const wave = 'refusal' in item ? before : waveOf(item)
    if (wave === undefined || wave !== before || waves.length === 0) waves.push([])
    waves.at(-1)!.push(item)
    before = wave
  }
  return waves
}

const waveOf = ({ candidate, isLarge }: CheckedItem): string | undefined =>
  isLarge ? undefined : QUEUE_OF[candidate.visit.kind.operation]

const admitItem = async (item: CheckedItem | ItemRefused): Promise<Accepted | NotAccepted> =>
  'refusal' in item ? item : admit(item.candidate)

const countItem = (ingress: Ingress, item: CheckedItem | ItemRefused, outcome: Accepted | NotAccepted): void => {
  const operation = 'refusal' in item ? item.operation : item.candidate.visit.kind.operation
  ingress.count(countOf(operation ?? 'batch', 'refusal' in outcome ? outcome.refusal : undefined))
}

const resultOf = async (outcome: Accepted | NotAccepted): Promise<BatchResult> => {
  if ('refusal' in outcome) return refusedResult(refusalResponse(outcome.refusal))
  const { status, submissionId, body, waited } = await answerTo(outcome)
  return { status, submissionId, ...(waited && { state: waited.state ?? 'queued' }), body }
}

const refusedResult = async (response: Response): Promise<BatchResult> => {
  const retryAfter = response.headers.get('retry-after')
  const body = (await response.json()) as object
  return { status: response.status, ...(retryAfter !== null && { retryAfter: Number(retryAfter) }), body }
}

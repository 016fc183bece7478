import type { Idempotency } from '../contract/idempotency.ts'
import { JOB_VERSION, type Operation, OPERATIONS, QUEUE_OF, type SubmissionJob } from '../contract/job.ts'
import type { BatchQueueName } from '../contract/queues.ts'

// The form in which a batch is kept: `number letters`, a line feed, and the items of its submissions as a JSON array. The number is that of
// the first place; there is a letter for each place, `-` for one whose submission was refused. A batch of one submission that was
// admitted in another one, or by another version, has `=` before its letter: it has the id of that submission.

/** Places in a batch begin at 1, so that no submission has the id of its batch, and fit in the last twelve bits of an id. */
const PLACE_DIGITS = 3

const LETTERS: Readonly<Record<Operation, string>> = {
  create_feedback: 'f',
  identify_contact: 'i',
  identify_account: 'a',
  submit_conversation: 'c',
  purge_contact: 'p',
}
const OPERATION_OF = new Map(OPERATIONS.map((operation) => [LETTERS[operation], operation]))

export const letterOf = (operation: Operation): string => LETTERS[operation]

/** A batch has a UUIDv7 whose last twelve bits are 0; `id` is any UUIDv7. */
export const batchIdOf = (id: string): string => id.slice(0, -PLACE_DIGITS) + '0'.repeat(PLACE_DIGITS)

/** The id of the submission in a place, from 1. */
export const submissionIdIn = (batchId: string, place: number): string =>
  batchId.slice(0, -PLACE_DIGITS) + place.toString(16).padStart(PLACE_DIGITS, '0')

/** A submission as its batch keeps it, but for its ids and its number. */
export type BatchItem = {
  /** The body as JSON. */
  bodyText: string
  idempotency?: Idempotency | undefined
  traceparent?: string | undefined
}

/** `[body, key, hash of the body, traceparent]`, as far as there are such; null for a key that is missing before a traceparent. */
export const itemText = ({ bodyText, idempotency, traceparent }: BatchItem): string => {
  const key = idempotency === undefined ? undefined : `"${idempotency.key}","${idempotency.body}"`
  if (traceparent !== undefined) return `[${bodyText},${key ?? 'null,null'},"${traceparent}"]`
  return key === undefined ? `[${bodyText}]` : `[${bodyText},${key}]`
}

type Item = [body: object, key?: string | null, bodyHash?: string | null, traceparent?: string]

/** A submission of a batch. */
export type Batched = { submission: SubmissionJob; idempotency: Idempotency | undefined }
export type Batch = {
  workspaceId: string
  batchId: string
  /** The number of the first place. */
  number: number
  queue: BatchQueueName
  submissions: readonly Batched[]
}

/** A batch of one submission with ids and number of its own, as it is kept. */
export const batchOfOne = ({ submission, idempotency }: Batched): string => {
  const { number, operation, body, traceparent } = submission
  const item = itemText({ bodyText: JSON.stringify(body), idempotency, traceparent })
  return `${number} =${LETTERS[operation]}\n[${item}]`
}

/** How long the head of a batch can be, in bytes. */
export const LONGEST_HEAD = 200

type Head = { number: number; isOfOne: boolean; operations: { place: number; operation: Operation }[] }

/** @param text a batch, or at least its head. */
export const readHead = (text: string): Head => {
  const [number, letters] = text.slice(0, text.indexOf('\n')).split(' ') as [string, string]
  const isOfOne = letters.startsWith('=')
  const places = isOfOne ? [letters[1]!] : [...letters]
  return {
    number: Number(number),
    isOfOne,
    operations: places.flatMap((letter, at) => {
      const operation = OPERATION_OF.get(letter)
      return operation === undefined ? [] : [{ place: at + 1, operation }]
    }),
  }
}

export const readBatch = ({ workspaceId, batchId }: { workspaceId: string; batchId: string }, text: string): Batch => {
  const { number, isOfOne, operations } = readHead(text)
  const items = JSON.parse(text.slice(text.indexOf('\n') + 1)) as Item[]
  const submissions = operations.map(({ place, operation }, at): Batched => {
    const [body, key, bodyHash, traceparent] = items[at]!
    const submission = {
      version: JOB_VERSION,
      operation,
      workspaceId,
      submissionId: isOfOne ? batchId : submissionIdIn(batchId, place),
      number: number + place - 1,
      body,
      ...(traceparent !== undefined && { traceparent }),
    } as SubmissionJob
    return { submission, idempotency: key == null ? undefined : { key, body: bodyHash! } }
  })
  return { workspaceId, batchId, number, queue: QUEUE_OF[operations[0]!.operation], submissions }
}

import { type Idempotency, type Operation, OPERATIONS, type Submission } from '../../contract/submission.ts'
import { compactId, MICROSECONDS_PER_MS, readCompactId } from '../keys.ts'

// An entry of the log holds the submissions that one call admitted together. Its id is `NUMBER-0`,
// with the number of its last submission. Its value is
//   1 FIRST LETTERS ID_BASE APPENDED BYTES POSITION\n[items]
// 1 is the version of this form. FIRST is the number of the first place, and LETTERS has a letter
// for each place, `-` for a request that was not admitted. ID_BASE is a compact UUIDv7 whose last
// 12 bits are 0. The id of a submission has the time of FIRST, the random bits of ID_BASE, and its
// place.
// APPENDED is the number of submissions that were appended before the entry, and BYTES the bytes of
// their entries. POSITION is the position hint at the admission. Each submission has an item:
//   [body, key, hash of the body, traceparent, submission id, original number]
// An absent part is null, and trailing nulls are left out. Only a submission that is appended again
// has the last two parts.

const VERSION = '1'
const LETTERS: Readonly<Record<Operation, string>> = {
  create_feedback: 'f',
  identify_contact: 'i',
  identify_account: 'a',
  submit_conversation: 'c',
  purge_contact: 'p',
  correct_feedback: 'e',
  delete_feedback: 'd',
  create_theme: 't',
  edit_theme: 'h',
}
const OPERATION_OF = new Map(OPERATIONS.map((operation) => [LETTERS[operation], operation]))

export const letterOf = (operation: Operation): string => LETTERS[operation]

/** Places start at 1 and fit in the last twelve bits of an id. */
const PLACE_DIGITS = 3

/** The ID_BASE of an entry, from any UUIDv7. The time of the UUID is not used. */
export const idBaseOf = (id: string): string => id.slice(0, -PLACE_DIGITS) + '0'.repeat(PLACE_DIGITS)

const TIME = /^(.{8})-(.{4})/
const TIME_DIGITS = 12

/**
 * The id of the submission at a place. The id has the time of the entry's first number, and ends
 * with the place. So the id leads to the entry in the log.
 */
export const submissionIdIn = ({ idBase, first }: { idBase: string; first: number }, place: number): string => {
  const time = Math.floor(first / MICROSECONDS_PER_MS)
    .toString(16)
    .padStart(TIME_DIGITS, '0')
  const rest = idBase.slice(TIME_DIGITS + 1, -PLACE_DIGITS)
  return `${time.slice(0, 8)}-${time.slice(8)}${rest}${place.toString(16).padStart(PLACE_DIGITS, '0')}`
}

/** The place of a submission in its entry, from its id. */
export const placeOf = (submissionId: string): number => Number.parseInt(submissionId.slice(-PLACE_DIGITS), 16)

/** The time in an id, in milliseconds since 1970: that of the entry's first number. */
export const admittedMs = (submissionId: string): number =>
  Number.parseInt(submissionId.replace(TIME, '$1$2').slice(0, TIME_DIGITS), 16)

export type ItemParts = {
  /** The body as JSON. */
  bodyText: string
  idempotency?: Idempotency | undefined
  traceparent?: string | undefined
  /** For a submission that is appended again: its id, first number and idempotency key. */
  original?: { submissionId: string; number: number; idempotency?: Idempotency | undefined } | undefined
}

export const itemText = ({ bodyText, idempotency, traceparent, original }: ItemParts): string => {
  const kept = idempotency ?? original?.idempotency
  const parts = [kept?.key, kept?.body, traceparent, original && compactId(original.submissionId), original?.number]
  const end = parts.findLastIndex((part) => part !== undefined) + 1
  return `[${[bodyText, ...parts.slice(0, end).map((part) => JSON.stringify(part ?? null))].join(',')}]`
}

type Item = [
  body: object,
  key?: string | null,
  bodyHash?: string | null,
  traceparent?: string | null,
  submissionId?: string | null,
  originalNumber?: number | null,
]

type EntryHead = { first: number; letters: string; idBase: string; position: number }

const readHead = (value: string): EntryHead => {
  const [version, first, letters, idBase, , , position] = value.slice(0, value.indexOf('\n')).split(' ')
  if (version !== VERSION || position === undefined)
    throw unreadable(`The log has an entry in an unknown form, of version ${version}.`)
  return { first: Number(first), letters: letters!, idBase: readCompactId(idBase!), position: Number(position) }
}

/** The error for an entry that a newer release has written. The service logs only its code. */
const unreadable = (message: string): Error => Object.assign(new Error(message), { code: 'UNREADABLE_LOG_ENTRY' })

/** The submissions of an entry, in the order of their numbers. */
export const readEntry = (workspaceId: string, value: string): Submission[] => {
  const head = readHead(value)
  const items = JSON.parse(value.slice(value.indexOf('\n') + 1)) as Item[]
  const submissions: Submission[] = []
  for (const [at, letter] of [...head.letters].entries()) {
    if (letter === '-') continue
    const operation = OPERATION_OF.get(letter)
    if (operation === undefined) throw unreadable(`The log has an entry with an unknown operation: ${letter}.`)
    const item = items[submissions.length]!
    submissions.push({
      operation,
      workspaceId,
      number: head.first + at,
      body: item[0],
      ...optionalParts(item),
      ...idAndPosition(item, head, at + 1),
    } as Submission)
  }
  return submissions
}

const optionalParts = ([, key, body, traceparent]: Item) => ({
  ...(typeof key === 'string' && typeof body === 'string' && { idempotency: { key, body } }),
  ...(typeof traceparent === 'string' && { traceparent }),
})

/**
 * A submission that is appended again has no `seenPosition`: it was answered at its first
 * admission, and the position of that time is not kept.
 */
const idAndPosition = ([, , , , id, originalNumber]: Item, head: EntryHead, place: number) =>
  typeof id === 'string' && typeof originalNumber === 'number'
    ? { submissionId: readCompactId(id), originalNumber }
    : { submissionId: submissionIdIn(head, place), seenPosition: head.position }

import * as v from 'valibot'
import type { Problem } from '../../contract/check-body.ts'
import type { Refusal } from '../refusal.ts'
import { isDateTime, postgresDateTime } from '../../contract/date-time.ts'
import { asOwnId } from '../../contract/identity/keys.ts'
import { MAX_IDENTIFIER_CHARACTERS, MAX_TAG_CHARACTERS } from '../../contract/limits.ts'
import type { FeedPlace } from '../../db/reads/changes.ts'

const MOST_RECORDS = 500
const MOST_WORDS = 20

const wholeNumber = (from: number, to: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, `a whole number from ${from} to ${to}`),
    v.transform(Number),
    v.check((value) => value >= from && value <= to, `a whole number from ${from} to ${to}`),
  )

const textOfAtMost = (characters: number) =>
  v.pipe(
    v.string(),
    v.check(
      (value) => value !== '' && !value.includes('\0') && [...value].length <= characters,
      `text of 1 to ${characters} characters`,
    ),
  )

const OWN_ID = 'an id of this service'
const ownIdText = v.pipe(
  v.string(),
  v.check((value) => asOwnId(value) !== undefined, OWN_ID),
  v.transform((value) => asOwnId(value)!),
)

const DECIMAL = 'a decimal number'
const decimal = v.pipe(v.string(), v.regex(/^-?\d{1,16}(?:\.\d{1,16})?$/, DECIMAL), v.transform(Number))

const time = v.pipe(
  v.string(),
  v.check(isDateTime, 'an existing date-time of RFC 3339 with an offset, such as 2026-01-31T09:30:00Z'),
  v.transform(postgresDateTime),
)

const words = v.pipe(
  textOfAtMost(MAX_IDENTIFIER_CHARACTERS),
  v.transform((value) => value.split(/\s+/u).filter((word) => word !== '')),
  v.check((value) => value.length >= 1 && value.length <= MOST_WORDS, `1 to ${MOST_WORDS} words`),
)

/** A position, or `POSITION-POSITION` as `next` has it while a reader is on its first pass. */
const place = v.pipe(
  v.string(),
  v.regex(/^\d{1,16}(?:-\d{1,16})?$/, 'a position, or the `next` of an answer'),
  v.transform((value): FeedPlace => {
    const [position, passSince] = value.split('-').map(Number)
    return { position: position!, passSince }
  }),
  v.check(
    ({ position, passSince = 0 }) => Number.isSafeInteger(position) && Number.isSafeInteger(passSince),
    'a position',
  ),
)

const limit = wholeNumber(1, MOST_RECORDS)
const cursor = textOfAtMost(MAX_IDENTIFIER_CHARACTERS)

/** The parameters of all lists. */
export const LIST_PARAMETERS = {
  limit,
  order: v.picklist(['newest', 'oldest'], 'newest or oldest'),
  next: cursor,
} as const

export const FEEDBACK_PARAMETERS = {
  ...LIST_PARAMETERS,
  source: textOfAtMost(MAX_IDENTIFIER_CHARACTERS),
  tag: textOfAtMost(MAX_TAG_CHARACTERS),
  customerId: ownIdText,
  accountId: ownIdText,
  projectId: ownIdText,
  ratingMin: decimal,
  ratingMax: decimal,
  createdFrom: time,
  createdTo: time,
  q: words,
} as const

export const CHANGES_PARAMETERS = { after: place, limit } as const

export const DEFAULT_LIMIT = 50

/** The parameters of a query, by name. The message of a schema follows the words "must be". */
export type QuerySchema = Readonly<Record<string, v.GenericSchema<string, unknown>>>
/** Parameters that may come several times. */
export type Repeatable = 'tag'

export type QueryOf<S extends QuerySchema> = {
  [Name in keyof S]?: Name extends Repeatable ? v.InferOutput<S[Name]>[] : v.InferOutput<S[Name]>
}

const REPEATABLE: ReadonlySet<string> = new Set<Repeatable>(['tag'])

/**
 * The parameters of a request. One that is unknown, badly formed, or there twice is refused: an
 * ignored filter would answer with more than was asked for.
 */
export const readQuery = <S extends QuerySchema>(request: Request, schemas: S): QueryOf<S> | Refusal => {
  const given = new URL(request.url).searchParams
  const query: Record<string, unknown> = {}
  const problems: Problem[] = []
  for (const name of new Set(given.keys())) {
    const values = given.getAll(name)
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
    const read = schema === undefined ? UNKNOWN : readParameter(schema, values, REPEATABLE.has(name))
    if ('problem' in read)
      problems.push({ path: name.slice(0, MOST_SHOWN), message: `${name.slice(0, MOST_SHOWN)} ${read.problem}` })
    else query[name] = read.value
  }
  if (problems.length > 0) return { refused: 'invalid', problems: problems.slice(0, MOST_PROBLEMS) }
  return query as QueryOf<S>
}

const MOST_SHOWN = 100
const MOST_PROBLEMS = 100
const UNKNOWN = { problem: 'is no parameter that is known here' }

const readParameter = (
  schema: v.GenericSchema<string, unknown>,
  values: readonly string[],
  isRepeatable: boolean,
): { value: unknown } | { problem: string } => {
  if (values.length > 1 && !isRepeatable) return { problem: 'must be given once' }
  const read = values.map((value) => v.safeParse(schema, value))
  const failed = read.find(({ success }) => !success)
  if (failed?.issues) return { problem: `must be ${failed.issues[0].message}` }
  const outputs = read.map(({ output }) => output)
  return { value: isRepeatable ? outputs : outputs[0] }
}

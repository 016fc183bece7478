import * as v from 'valibot'
import type { Problem } from '../../contract/check-body.ts'
import type { Refusal } from '../http/refusal.ts'
import { isDateTime, postgresDateTime } from '../../contract/date-time.ts'
import { FIELD_PREFIX } from '../../contract/feedback-filters.ts'
import { about } from '../../contract/fields.ts'
import { MAX_REPORTED_PROBLEMS, MAX_TAG_CHARACTERS, MAX_TAGS } from '../../contract/limits.ts'
import { identifier, ownId, textOfAtMost, words } from '../../contract/query-fields.ts'
import { isFieldName } from '../../contract/source-settings.ts'
import { ORDERS } from '../../db/reads/counts.ts'
import { DIMENSION_NAMES, type Dimensions, isFixedDimension } from '../../db/reads/dimensions.ts'
import { searchOf } from '../../tagger/searched-words.ts'
import { feedPlace } from './feed-place.ts'

const MOST_RECORDS = 500
export const DEFAULT_LIMIT = 50

const LIMIT = `a whole number from 1 to ${MOST_RECORDS}`
const limit = about(
  v.pipe(
    v.string(),
    v.check((text) => /^\d{1,9}$/.test(text), LIMIT),
    v.transform(Number),
    v.check((value) => value >= 1 && value <= MOST_RECORDS, LIMIT),
    v.metadata({ type: 'integer', minimum: 1, maximum: MOST_RECORDS, default: DEFAULT_LIMIT }),
  ),
  'The maximum number of records or changes in a page.',
)

const MOST_DIGITS = 400
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/** A number in any form in which a program writes it, such as 4, 0.30000000000000004 or 1e-7. */
const decimal = (description: string) =>
  v.pipe(
    v.string(),
    v.description(description),
    v.check(
      (value) => value.length <= MOST_DIGITS && NUMBER.test(value) && Number.isFinite(Number(value)),
      'a decimal number',
    ),
    v.transform(Number),
    v.metadata({ type: 'number' }),
  )

/** In a query, a `+` stands for a space. */
const LOST_PLUS = /^\S+ \d\d:\d\d$/

const time = (description: string) =>
  v.pipe(
    v.string(),
    v.description(description),
    v.check(
      (value) => !LOST_PLUS.test(value) || !isDateTime(value.replace(' ', '+')),
      'sent with %2B for the + of its offset: in a query, a + stands for a space',
    ),
    v.check(isDateTime, 'an existing date-time of RFC 3339 with an offset, such as 2026-01-31T09:30:00Z'),
    v.transform(postgresDateTime),
    v.metadata({ format: 'date-time' }),
  )

/** The parameters of all lists, with their descriptions in the reference. */
export const LIST_PARAMETERS = {
  limit,
  order: about(
    v.picklist(['newest', 'oldest'], 'newest or oldest'),
    'The order by `createdAt`, then by id. By default lists begin with the newest, and messages with the oldest.',
  ),
  next: identifier('The `next` of the previous page, with the same filters and order.'),
} as const

/** Stands for the parameters of declared fields, such as `field.plan`. */
export const ANY_FIELD = 'field.*'

const FEEDBACK_FILTERS = {
  source: identifier('Records of this source.'),
  tag: textOfAtMost(
    MAX_TAG_CHARACTERS,
    'Records that carry this tag. Given several times, records that carry all of the tags.',
  ),
  customerId: ownId('Records of this contact. An id that was merged stands for the contact that absorbed it.'),
  accountId: ownId(
    'Records of this account. A record without an account belongs to the account of its contact. An id that was merged ' +
      'stands for the account that absorbed it.',
  ),
  projectId: ownId('Records about this project.'),
  ratingMin: decimal('Records with at least this rating.'),
  ratingMax: decimal('Records with at most this rating.'),
  satisfactionMin: decimal('Records with at least this satisfaction, from 0 to 1.'),
  satisfactionMax: decimal(
    'Records with at most this satisfaction, from 0 to 1: the rating on the scale of its source.',
  ),
  createdFrom: time('Records whose `createdAt` is at this time or later.'),
  createdTo: time('Records whose `createdAt` is before this time.'),
  [ANY_FIELD]: identifier(
    'Records with this value of a declared field, as in `field.plan=trial`. Several fields mean all of them. Numbers, true and false ' +
      'compare as their JSON.',
  ),
  q: v.pipe(
    words(
      'Words that all occur in the title or the description, each in any of its forms, such as export and exported. ' +
        '`"two words"` stand in a row, and of two words with `or` between one is enough. The case of letters, accents, forms ' +
        'of one letter in Unicode, and format characters make no difference. New texts are found with a delay of about a second.',
    ),
    v.transform(searchOf),
  ),
} as const

export const FEEDBACK_PARAMETERS = {
  ...LIST_PARAMETERS,
  ...FEEDBACK_FILTERS,
  isHidden: v.pipe(
    v.picklist(['true', 'false'], 'true or false'),
    v.description('`true`: records that a person has hidden. By default, records that are not hidden.'),
    v.transform((value) => value === 'true'),
  ),
} as const

const BY = `${DIMENSION_NAMES.join(', ')}, field.NAME of a declared field, or two different ones with a comma between`

export const isDimension = (name: string): boolean =>
  isFixedDimension(name) || (name.startsWith(FIELD_PREFIX) && isFieldName(name.slice(FIELD_PREFIX.length)))

const isDimensions = (names: readonly string[]): boolean =>
  names.length <= 2 && new Set(names).size === names.length && names.every(isDimension)

export const COUNTS_PARAMETERS = {
  by: v.pipe(
    v.string(),
    v.description(`What to count by: ${BY}. By tag, a record counts once for each of its tags.`),
    v.transform((given): readonly string[] => given.split(',')),
    v.check(isDimensions, BY),
    v.transform((names) => names as unknown as Dimensions),
  ),
  order: about(
    v.picklist(ORDERS, ORDERS.join(', ')),
    'The order of the groups: the most `feedback` first; the least `satisfaction` first; the greatest share of `bad` first; or by `key`, ' +
      'which is the default for week and month, the latest first.',
  ),
  limit,
  next: LIST_PARAMETERS.next,
  ...FEEDBACK_FILTERS,
} as const

export const SOURCES_PARAMETERS = { limit, next: LIST_PARAMETERS.next } as const

export const CHANGES_PARAMETERS = {
  after: about(
    feedPlace,
    'The `next` of the previous answer, or a position. Without it the feed begins with all existing records.',
  ),
  limit,
} as const

/** The parameters of a query, by name. Each message of a schema follows the words "must be". */
export type QuerySchema = Readonly<Record<string, v.GenericSchema<string, unknown>>>
/** Parameters that may come several times. */
type Repeatable = 'tag'

type QueryOf<S extends QuerySchema> = {
  [Name in Exclude<keyof S, typeof ANY_FIELD>]?: Name extends Repeatable
    ? v.InferOutput<S[Name]>[]
    : v.InferOutput<S[Name]>
} & (typeof ANY_FIELD extends keyof S ? { fields?: Readonly<Record<string, string>> } : unknown)

export const REPEATABLE: ReadonlySet<string> = new Set<Repeatable>(['tag'])

/**
 * The parameters of a request. Refuses a parameter that is unknown, malformed or wrongly repeated:
 * an ignored filter would answer with more than was asked for.
 */
export const readQuery = <S extends QuerySchema>(request: Request, schemas: S): QueryOf<S> | Refusal => {
  const query: Record<string, unknown> = {}
  const fields: [string, unknown][] = []
  const problems: Problem[] = []
  for (const [name, values] of valuesByName(request, Object.keys(schemas).length + MAX_REPORTED_PROBLEMS)) {
    const isField = name.startsWith(FIELD_PREFIX)
    const known = isField ? ANY_FIELD : name
    const schema = Object.hasOwn(schemas, known) ? schemas[known] : undefined
    const read = schema === undefined ? UNKNOWN : readParameter(schema, values, REPEATABLE.has(name))
    const shown = name.slice(0, MOST_SHOWN_CHARACTERS)
    if ('problem' in read) problems.push({ path: shown, message: `${shown} ${read.problem}` })
    else if (isField) fields.push([name.slice(FIELD_PREFIX.length), read.value])
    else query[name] = read.value
  }
  if (problems.length > 0) return { refused: 'invalid', problems: problems.slice(0, MAX_REPORTED_PROBLEMS) }
  if (fields.length > 0) query['fields'] = Object.fromEntries(fields)
  return query as QueryOf<S>
}

/**
 * The values of each parameter. Stops at `most` names: among them are as many unknown ones as an
 * answer reports.
 */
const valuesByName = (request: Request, most: number): Map<string, string[]> => {
  const found = new Map<string, string[]>()
  for (const [name, value] of new URL(request.url).searchParams) {
    const values = found.get(name)
    if (values) values.push(value)
    else found.set(name, [value])
    if (found.size === most) break
  }
  return found
}

const MOST_SHOWN_CHARACTERS = 100
const UNKNOWN = { problem: 'is not a known parameter' }

const readParameter = (
  schema: v.GenericSchema<string, unknown>,
  values: readonly string[],
  isRepeatable: boolean,
): { value: unknown } | { problem: string } => {
  if (values.length > 1 && !isRepeatable) return { problem: 'must be given once' }
  if (values.length > MAX_TAGS) return { problem: `must be given at most ${MAX_TAGS} times` }
  const read = values.map((value) => v.safeParse(schema, value))
  const failed = read.find(({ success }) => !success)
  if (failed?.issues) return { problem: `must be ${failed.issues[0].message}` }
  const outputs = read.map(({ output }) => output)
  return { value: isRepeatable ? outputs : outputs[0] }
}

import * as v from 'valibot'
import { instantOf } from '../contract/date-time.ts'
import { feedbackFilters, FIELD_PREFIX, FILTERS } from '../contract/feedback-filters.ts'
import { asUuid } from '../contract/identity/keys.ts'
import { isFieldName } from '../contract/source-settings.ts'
import type { ComparedSpan } from '../db/reads/comparison.ts'
import { type Dimension, isFixedDimension } from '../db/reads/dimensions.ts'
import type { FeedbackFilters } from '../db/reads/filters.ts'
import type { SpanUnit } from '../db/reads/spans.ts'
import { withHashes } from '../tagger/searched-words.ts'

/** The parameters of an address. */
export type ViewQuery = Readonly<Record<string, string | readonly string[] | undefined>>

/** What an address asks for. `query`: its filters, as given. */
export type View = {
  readonly query: ViewQuery
  readonly filters: FeedbackFilters
  readonly by: Dimension | undefined
  readonly order: string | undefined
  readonly next: string | undefined
  readonly name: string | undefined
}

const NUMBERS: ReadonlySet<string> = new Set([
  'moodMax',
  'ratingMin',
  'ratingMax',
  'satisfactionMin',
  'satisfactionMax',
])
const OTHERS: ReadonlySet<string> = new Set(['by', 'order', 'next', 'name'])
const MOST_CHARACTERS = 2_000
const MOST_PARAMETERS = 60

/** Reads an address. A form sends the names of empty fields, which count as absent. */
export const readView = (parameters: URLSearchParams): View | { problems: string[] } => {
  const text = parameters.toString()
  if (text.length > MOST_CHARACTERS) return { problems: ['The address is too long.'] }
  if (text.includes('%00')) return { problems: ['The address contains a character that no text has: %00.'] }
  const given = [...parameters].filter(([, value]) => value.trim() !== '').slice(0, MOST_PARAMETERS)
  const one = Object.fromEntries(given)
  const isFilter = (name: string): boolean => Object.hasOwn(FILTERS, name) || name.startsWith(FIELD_PREFIX)
  const unknown = Object.keys(one).filter((name) => !isFilter(name) && !OTHERS.has(name) && !isOwn(name))
  const { by, order, next, name } = one
  const read = v.safeParse(feedbackFilters, filtersOf(one, parameters.getAll('tag')))
  const problems = [
    ...unknown.map((each) => `${each.slice(0, 100)} is no parameter of this page`),
    ...(read.success
      ? []
      : read.issues.map((issue) => `${v.getDotPath(issue) ?? 'The address'} must be ${issue.message}`)),
    ...(one['similarId'] !== undefined && asUuid(one['similarId']) === undefined ? ['similarId must be an id'] : []),
    ...(by !== undefined && !isDimension(by) ? [`by must be a dimension, such as source or field.plan`] : []),
  ]
  if (problems.length > 0 || !read.success) return { problems }
  const similarId = asUuid(one['similarId'] ?? '')
  const query = Object.fromEntries(given.filter(([each]) => !OTHERS.has(each)))
  return {
    query: { ...query, ...(query['tag'] !== undefined && { tag: parameters.getAll('tag') }) },
    filters: {
      ...withHashes(read.output),
      ...(similarId !== undefined && { similarId }),
      ...(one['isHidden'] === 'true' && { isHidden: true }),
    },
    by: by as Dimension | undefined,
    order,
    next,
    name,
  }
}

const isOwn = (name: string): boolean => name === 'isHidden' || name === 'similarId'

const isDimension = (name: string): boolean =>
  isFixedDimension(name) || (name.startsWith(FIELD_PREFIX) && isFieldName(name.slice(FIELD_PREFIX.length)))

/** The filters in the form of JSON, as agents give them. */
const filtersOf = (one: Readonly<Record<string, string>>, tags: readonly string[]): object => {
  const fields = Object.entries(one).filter(([name]) => name.startsWith(FIELD_PREFIX))
  const plain = Object.entries(one).filter(([name]) => Object.hasOwn(FILTERS, name) && name !== 'tag')
  const tag = tags.filter((each) => each.trim() !== '')
  return {
    ...Object.fromEntries(plain.map(([name, value]) => [name, NUMBERS.has(name) ? Number(value) : value])),
    ...(tag.length > 0 && { tag }),
    ...(fields.length > 0 && {
      fields: Object.fromEntries(fields.map(([name, value]) => [name.slice(FIELD_PREFIX.length), value])),
    }),
  }
}

/** Two spans of the same length, the earlier right before the later, with the query of each. */
export type Spanned = {
  readonly before: ComparedSpan
  readonly after: ComparedSpan
  readonly unit: SpanUnit
  /** The other filters. */
  readonly filters: FeedbackFilters
  /** The queries of lists: all filters, with the days of the span. */
  readonly beforeQuery: ViewQuery
  readonly afterQuery: ViewQuery
  readonly days: number
}

const DAY_MS = 86_400_000
export const USUAL_DAYS = 28
const MOST_DAYS_BY_DAY = 35
const MOST_DAYS_BY_WEEK = 400
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T00:00:00Z')

/**
 * The span of a view: the last four weeks, if the address gives none. With a start alone, such as the
 * day of a release, up to today.
 */
export const spannedOf = ({ filters: given, query }: View, now: Date): Spanned => {
  const { createdFrom, createdTo, ...filters } = given
  const tomorrow = Math.floor(now.getTime() / DAY_MS) * DAY_MS + DAY_MS
  const end =
    createdTo === undefined ? Math.max(tomorrow, createdFrom ? msOf(createdFrom) + DAY_MS : 0) : msOf(createdTo)
  const start = createdFrom === undefined ? end - USUAL_DAYS * DAY_MS : msOf(createdFrom)
  const to = bounded(Math.max(end, start + 1))
  const from = Math.min(bounded(start), LAST_MS - DAY_MS)
  const first = bounded(from - (to - from))
  const days = (to - from) / DAY_MS
  return {
    before: spanOf(first, from),
    after: spanOf(from, to),
    unit: days <= MOST_DAYS_BY_DAY ? 'day' : days <= MOST_DAYS_BY_WEEK ? 'week' : 'month',
    filters,
    beforeQuery: { ...query, createdFrom: fromText(first), createdTo: toText(from) },
    afterQuery: { ...query, createdFrom: fromText(from), createdTo: toText(to) },
    days,
  }
}

const bounded = (ms: number): number => Math.min(Math.max(ms, FIRST_MS), LAST_MS)
const msOf = (time: string): number => Math.floor(instantOf(time) / 1_000)
const spanOf = (from: number, to: number): ComparedSpan => ({ from: timeAt(from), to: timeAt(to) })
const timeAt = (ms: number): string => new Date(ms).toISOString()
const isMidnight = (ms: number): boolean => ms % DAY_MS === 0
const fromText = (ms: number): string => (isMidnight(ms) ? timeAt(ms).slice(0, 10) : timeAt(ms))
/** In an address, a last day is included, and a last time is not. */
const toText = (ms: number): string => (isMidnight(ms) ? timeAt(ms - DAY_MS).slice(0, 10) : timeAt(ms))

/** The days of a preset that ends today. */
export const lastDays = (now: Date, days: number): ViewQuery => {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  return { createdFrom: fromText(today - (days - 1) * DAY_MS), createdTo: fromText(today) }
}

/** The first and the last day of a step, as parameters. */
export const stepQuery = (key: string, unit: SpanUnit): ViewQuery => {
  const start = Date.parse(`${key}T00:00:00Z`)
  const next = new Date(start)
  if (unit === 'month') next.setUTCMonth(next.getUTCMonth() + 1)
  else next.setUTCDate(next.getUTCDate() + (unit === 'week' ? 7 : 1))
  return { createdFrom: key, createdTo: fromText(next.getTime() - DAY_MS) }
}

/** The filter for one group of a dimension; undefined where no filter means the group. */
export const filterOf = (by: Dimension, key: string | null): ViewQuery | undefined => {
  if (key === null) return undefined
  switch (by) {
    case 'theme':
      return { themeId: key }
    case 'account':
      return { accountId: key }
    case 'customer':
      return { customerId: key }
    case 'project':
      return { projectId: key }
    case 'rating':
      return { ratingMin: key, ratingMax: key }
    case 'week':
      return stepQuery(key, 'week')
    case 'month':
      return stepQuery(`${key}-01`, 'month')
    case 'kind':
    case 'source':
    case 'tag':
    default:
      return { [by]: key }
  }
}

const startMs = (day: string): number => Date.parse(day)
const endMs = (day: string): number => Date.parse(day) + (/T/.test(day) ? 0 : DAY_MS)

/** The filters of a figure within those of its span; undefined if no day is in both. */
export const within = (span: ViewQuery, own: ViewQuery | undefined): ViewQuery | undefined => {
  if (own?.['createdFrom'] === undefined) return own && { ...span, ...own }
  const [from, to] = [String(own['createdFrom']), String(own['createdTo'])]
  const [first, last] = [String(span['createdFrom']), String(span['createdTo'])]
  const createdFrom = startMs(from) > startMs(first) ? from : first
  const createdTo = endMs(to) < endMs(last) ? to : last
  return startMs(createdFrom) < endMs(createdTo) ? { ...span, ...own, createdFrom, createdTo } : undefined
}

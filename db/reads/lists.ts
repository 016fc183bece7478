import type { Sql } from '../connection/postgres.ts'
import { type DeclaredFields, fieldValue, fieldValueAlone, literal } from './field-values.ts'
import { RECORD_TABLES, readRecords, type RecordKind } from './records.ts'

/** Filters for feedback. Each one narrows the list. */
export type FeedbackFilters = {
  source?: string | undefined
  /** Feedback with all of these tags. */
  tag?: readonly string[] | undefined
  customerId?: string | undefined
  /** The account of the feedback; without one, that of its customer. */
  accountId?: string | undefined
  projectId?: string | undefined
  ratingMin?: number | undefined
  ratingMax?: number | undefined
  satisfactionMin?: number | undefined
  satisfactionMax?: number | undefined
  createdFrom?: string | undefined
  createdTo?: string | undefined
  /** Hidden feedback; otherwise feedback that is not hidden. A count takes no hidden feedback. */
  isHidden?: boolean | undefined
  /** Values of declared fields, as text. */
  fields?: Readonly<Record<string, string>> | undefined
  /** Words that must all occur in the title or the description. */
  q?: readonly string[] | undefined
}

/**
 * The keys of contacts or accounts, in canonical form. `externalKey`: of an external id, in all
 * sources, or in this `source` alone.
 */
export type LookUpKeys = {
  externalKey?: string | undefined
  source?: string | undefined
  email?: string | undefined
  domain?: string | undefined
  name?: string | undefined
}
const LOOK_UPS = ['externalKey', 'email', 'domain', 'name'] as const

/** Messages of one conversation. */
type MessageFilters = { conversationId?: string }

/** The kinds of record that these filters and counts know. */
export type CountedKind = 'feedback' | 'conversation'

/** A place in a list, after this record. `at`: UTC, with microseconds. */
export type ListPlace = { at: string; id: string }

export type ListRequest = {
  workspaceId: string
  kind: RecordKind
  filters: FeedbackFilters & MessageFilters & LookUpKeys
  declared?: DeclaredFields
  after: ListPlace | undefined
  isOldestFirst: boolean
  limit: number
}

/** `records`: JSON texts. `next`: the place where the list goes on, if it does. */
export type ListPage = { records: string[]; next: ListPlace | undefined }

// Conditions are SQL over `r`. $1 is the workspace and $2 the filters (`list_query` in reads.sql),
// with the members that `current_filters` adds.
const idsIn = (name: 'customerIds' | 'accountIds' | 'movingIds'): string =>
  `any (array(select jsonb_array_elements_text($2 -> '${name}')::uuid))`

/** The satisfaction of feedback `r` of a source `s`, as in `feedback_view`. */
export const SATISFACTION = `case when r.rating between s.scale_low and s.scale_high
  then (r.rating - s.scale_low) / (s.scale_high - s.scale_low) end`

/** The patterns of the words that a text must match. They are built once, not for each record. */
const PATTERNS = `array(
  select '%' || regexp_replace(search_form(word), '([\\\\%_])', '\\\\\\1', 'g') || '%' from jsonb_array_elements_text($2 -> 'q') as word)`

const satisfied = (comparison: string): string => `exists (
    select from source as s where s.workspace_id = $1 and s.source = r.source and ${SATISFACTION} ${comparison})`

/** Filters with an index. The first given filter selects the index of the list. */
const LEADING = {
  conversationId: `r.conversation_id = ($2 ->> 'conversationId')::uuid`,
  customerId: `r.contact_id = ${idsIn('customerIds')}`,
  accountId: `(coalesce(r.account_id, (select c.account_id from contact as c where c.workspace_id = $1 and c.id = r.contact_id))
    = ${idsIn('accountIds')} or r.account_id is null and r.contact_id = ${idsIn('movingIds')})`,
  projectId: `r.project_id = ($2 ->> 'projectId')::uuid`,
  source: `r.source = $2 ->> 'source'`,
}
/** Hidden feedback is only where it is asked for. `isHidden` selects an index. */
const SHOWN = 'not r.is_hidden'
const shownOf = ({ isHidden = false }: FeedbackFilters): string => (isHidden ? 'r.is_hidden' : SHOWN)

/** Ranges of the time that orders the list. */
const RANGES = {
  createdFrom: `r.created_at >= ($2 ->> 'createdFrom')::timestamptz`,
  createdTo: `r.created_at < ($2 ->> 'createdTo')::timestamptz`,
}
const CONDITIONS = {
  ...LEADING,
  ratingMin: `r.rating >= ($2 ->> 'ratingMin')::float8`,
  ratingMax: `r.rating <= ($2 ->> 'ratingMax')::float8`,
  satisfactionMin: satisfied(`>= ($2 ->> 'satisfactionMin')::float8`),
  satisfactionMax: satisfied(`<= ($2 ->> 'satisfactionMax')::float8`),
  tag: `r.tags @> array(select jsonb_array_elements_text($2 -> 'tag'))`,
  q: `search_form(concat_ws(' ', r.title, r.description)) like all (${PATTERNS})`,
}

/** Where a conversation differs. Its words are those of its title and of one message. */
const OF_CONVERSATION = {
  customerId: `exists (select from conversation_contact as o
    where o.workspace_id = $1 and o.conversation_id = r.id and o.contact_id = ${idsIn('customerIds')})`,
  accountId: `exists (select from conversation_contact as o
    join contact as c on c.workspace_id = o.workspace_id and c.id = o.contact_id
    where o.workspace_id = $1 and o.conversation_id = r.id and c.account_id = ${idsIn('accountIds')})`,
  projectId: 'false',
  q: `(search_form(r.title) like all (${PATTERNS}) or exists (select from message as m
    where m.workspace_id = $1 and m.conversation_id = r.id and search_form(m.content) like all (${PATTERNS})))`,
}

/** The condition of an account for statements that find all of its feedback at once. */
const WHOLE_ACCOUNT = `r.id in (
  select o.id from feedback as o where o.workspace_id = $1 and o.account_id = ${idsIn('accountIds')}
  union all
  select o.id from feedback as o
  where o.workspace_id = $1 and o.account_id is null and o.contact_id = ${idsIn('movingIds')}
  union all
  select o.id from contact as c
  join feedback as o on o.workspace_id = c.workspace_id and o.contact_id = c.id and o.account_id is null
  where c.workspace_id = $1 and c.account_id = ($2 ->> 'accountId')::uuid)`

/**
 * All filters as one condition, for filters of `currentFilters` and a statement with `OWNER_JOINS`,
 * without hidden feedback.
 */
export const conditionOf = (filters: FeedbackFilters, declared: DeclaredFields = []): string =>
  conjunction([
    SHOWN,
    ...given({ ...CONDITIONS, accountId: WHOLE_ACCOUNT }, filters),
    ...given(RANGES, filters),
    ...fieldConditions(filters, (name) => fieldValue(name, declared)),
  ])

/** The same for conversations, which are never hidden and have no declared fields. */
export const conversationCondition = (filters: FeedbackFilters): string =>
  conjunction([...given({ ...CONDITIONS, ...OF_CONVERSATION }, filters), ...given(RANGES, filters)])

const fieldConditions = ({ fields = {} }: FeedbackFilters, valueOf: (name: string) => string): string[] =>
  Object.keys(fields).map((name) => `${valueOf(name)} = $2 -> 'fields' ->> ${literal(name)}`)

/**
 * The filters with the ids that their customer and account mean now. A count that begins in the
 * moment of a merge can still miss some of the moved feedback.
 */
export const currentFilters = async <Filters extends FeedbackFilters>(
  sql: Sql,
  workspaceId: string,
  filters: Filters,
): Promise<Filters> => {
  if (filters.customerId === undefined && filters.accountId === undefined) return filters
  const [row] = await sql<[{ filters: Filters }]>`
    select current_filters(${workspaceId}::uuid, ${sql.json(filters)}::jsonb) as filters`
  return row.filters
}

/** The most records that one call looks at. Then it returns its matches and the place to go on. */
const MOST_LOOKED = 20_000
/** The same for a search, which reads the whole text of each record. */
const MOST_SEARCHED = 5_000

/**
 * A page of a list, bounded by `limit` and `MOST_BYTES`. It can have fewer records than `limit`, or
 * none, although the list goes on.
 */
export const readList = async (
  sql: Sql,
  request: ListRequest,
  mostLooked = request.filters.q === undefined ? MOST_LOOKED : MOST_SEARCHED,
): Promise<ListPage> => {
  const { workspaceId, kind, after, isOldestFirst, limit } = request
  const isConversation = kind === 'conversation'
  const filters = isConversation ? await currentFilters(sql, workspaceId, request.filters) : request.filters
  // No index of conversations begins with a filter.
  const [leading] = isConversation ? [] : given(LEADING, filters)
  const isOwned = leading === LEADING.customerId || leading === LEADING.accountId
  const { scope, condition } = conditionsOfList({ ...request, filters }, leading, isOwned)
  const rest = sql`${scope}::text, ${condition}::text, ${sql.json(filters)}::jsonb, ${after?.at ?? null}::text,
    ${after?.id ?? null}::uuid, ${isOldestFirst}::boolean, ${limit + 1}::int, ${mostLooked}::int`
  const isLookUp = LOOK_UPS.some((name) => filters[name] !== undefined)
  const places = isLookUp
    ? sql`look_up_places(${workspaceId}::uuid, ${RECORD_TABLES[kind]}::text, ${sql.json(filters)}::jsonb,
        ${after?.at ?? null}::text, ${after?.id ?? null}::uuid, ${isOldestFirst}::boolean, ${limit + 1}::int)`
    : isOwned
      ? sql`list_owned_places(${workspaceId}::uuid, ${leading}::text, ${rest})`
      : sql`list_places(${workspaceId}::uuid, ${RECORD_TABLES[kind]}::text, ${rest})`
  const found = await sql<(ListPlace & { is_match: boolean; is_end: boolean })[]>`
    select id, at, is_match, is_end from ${places}`
  const matches = found.filter(({ is_match }) => is_match)
  const shown = matches.slice(0, limit)
  const read = await readRecords(
    sql,
    workspaceId,
    shown.map(({ id }) => ({ kind, id })),
  )
  const isCut = read.length < shown.length
  const last = isCut
    ? shown[read.length - 1]
    : matches.length > limit
      ? shown.at(-1)
      : found.find(({ is_end }) => is_end)
  return { records: read.filter((record) => record !== undefined), next: last && { at: last.at, id: last.id } }
}

/**
 * `scope`: what an index can start from. `condition`: the other filters, but for the leading one,
 * which `list_owned_places` has apart.
 */
const conditionsOfList = ({ kind, filters, declared }: ListRequest, leading: string | undefined, isOwned: boolean) => {
  const conditions = kind === 'conversation' ? { ...CONDITIONS, ...OF_CONVERSATION } : CONDITIONS
  const ofFields = fieldConditions(filters, (name) => fieldValueAlone(name, declared))
  return {
    scope: conjunction([
      ...(leading && !isOwned ? [leading] : []),
      ...given(RANGES, filters),
      ...(kind === 'feedback' ? [shownOf(filters)] : []),
    ]),
    condition: conjunction([...given(conditions, filters).filter((each) => each !== leading), ...ofFields]),
  }
}

const given = (conditions: Readonly<Record<string, string>>, filters: Readonly<Record<string, unknown>>): string[] =>
  Object.keys(conditions)
    .filter((name) => filters[name] !== undefined)
    .map((name) => conditions[name]!)

const conjunction = (conditions: readonly string[]): string => conditions.join(' and ') || 'true'

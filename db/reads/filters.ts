import { hasPhrase, type Search } from '../../contract/search.ts'
import type { TextKind } from '../../contract/kinds-of-texts.ts'
import type { Sql } from '../connection/postgres.ts'
import { type DeclaredFields, fieldValue, literal } from './field-values.ts'
import type { CountedKind } from './records.ts'
import { findIds, searchCondition } from './search.ts'

/** Filters for feedback. Each one narrows the list. */
export type FeedbackFilters = {
  source?: string | undefined
  /** Feedback with all of these tags. */
  tag?: readonly string[] | undefined
  customerId?: string | undefined
  /** The account of the feedback; without one, that of its customer. */
  accountId?: string | undefined
  projectId?: string | undefined
  themeId?: string | undefined
  /** Feedback with nearly the same text (`similar_id`). */
  similarId?: string | undefined
  kind?: TextKind | undefined
  moodMax?: number | undefined
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
  /** Words of the text. Statements need its stored hashes (`withStoredHashes`). */
  q?: Search | undefined
}

// Conditions are SQL over `r`. $1 is the workspace and $2 the filters (`list_query` in reads.sql),
// with the members that `current_filters` adds.
const idsIn = (name: 'customerIds' | 'accountIds' | 'movingIds'): string =>
  `any (array(select jsonb_array_elements_text($2 -> '${name}')::uuid))`

/** The satisfaction of feedback `r` of a source `s`, as in `feedback_view`. */
export const SATISFACTION = `case when r.rating between s.scale_low and s.scale_high
  then (r.rating - s.scale_low) / (s.scale_high - s.scale_low) end`

const satisfied = (comparison: string): string => `exists (
    select from source as s where s.workspace_id = $1 and s.source = r.source and ${SATISFACTION} ${comparison})`

/** Filters with an index. The first given filter selects the index of the list. */
export const LEADING = {
  conversationId: `r.conversation_id = ($2 ->> 'conversationId')::uuid`,
  customerId: `r.contact_id = ${idsIn('customerIds')}`,
  accountId: `(coalesce(r.account_id, (select c.account_id from contact as c where c.workspace_id = $1 and c.id = r.contact_id))
    = ${idsIn('accountIds')} or r.account_id is null and r.contact_id = ${idsIn('movingIds')})`,
  projectId: `r.project_id = ($2 ->> 'projectId')::uuid`,
  themeId: `r.theme_id = any (array(
    select h.id from theme as h where h.workspace_id = $1 and h.shown_id = ($2 ->> 'themeId')::uuid))`,
  similarId: `r.similar_id = ($2 ->> 'similarId')::uuid`,
  source: `r.source = $2 ->> 'source'`,
}
/** Hidden feedback is only where it is asked for. `isHidden` selects an index. */
const SHOWN = 'not r.is_hidden'
export const shownOf = ({ isHidden = false }: FeedbackFilters): string => (isHidden ? 'r.is_hidden' : SHOWN)

/** Ranges of the time that orders the list. */
export const RANGES = {
  createdFrom: `r.created_at >= ($2 ->> 'createdFrom')::timestamptz`,
  createdTo: `r.created_at < ($2 ->> 'createdTo')::timestamptz`,
}
export const CONDITIONS = {
  ...LEADING,
  kind: `r.kind = $2 ->> 'kind'`,
  moodMax: `r.mood <= ($2 ->> 'moodMax')::float8`,
  ratingMin: `r.rating >= ($2 ->> 'ratingMin')::float8`,
  ratingMax: `r.rating <= ($2 ->> 'ratingMax')::float8`,
  satisfactionMin: satisfied(`>= ($2 ->> 'satisfactionMin')::float8`),
  satisfactionMax: satisfied(`<= ($2 ->> 'satisfactionMax')::float8`),
  tag: `r.tags @> array(select jsonb_array_elements_text($2 -> 'tag'))`,
}

/** Where a conversation differs. */
const OF_CONVERSATION = {
  customerId: `exists (select from conversation_contact as o
    where o.workspace_id = $1 and o.conversation_id = r.id and o.contact_id = ${idsIn('customerIds')})`,
  accountId: `exists (select from conversation_contact as o
    join contact as c on c.workspace_id = o.workspace_id and c.id = o.contact_id
    where o.workspace_id = $1 and o.conversation_id = r.id and c.account_id = ${idsIn('accountIds')})`,
  projectId: 'false',
  similarId: 'false',
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
    ...(filters.q ? [searchCondition(filters.q, 'feedback')] : []),
  ])

/** The same for conversations, which are never hidden. None has the value of a declared field. */
export const conversationCondition = (filters: FeedbackFilters): string =>
  conjunction([
    ...given({ ...CONDITIONS, ...OF_CONVERSATION, fields: 'false' }, filters),
    ...given(RANGES, filters),
    ...(filters.q ? [searchCondition(filters.q, 'conversation')] : []),
  ])

export const fieldConditions = ({ fields = {} }: FeedbackFilters, valueOf: (name: string) => string): string[] =>
  Object.keys(fields).map((name) => `${valueOf(name)} = $2 -> 'fields' ->> ${literal(name)}`)

/**
 * The filters as a parameter of statements: with the ids that their customer and account mean now,
 * and with the records that have their phrases. A count that begins in the moment of a merge can
 * still miss some of the moved feedback.
 */
export const currentFilters = async (
  sql: Sql,
  { workspaceId, filters: { q: search, ...filters }, of }: FiltersAsked,
): Promise<SqlFilters> => {
  const isToFind = search !== undefined && hasPhrase(search)
  const found = isToFind ? { ...filters, foundIds: await findIds(sql, { workspaceId, search, of }) } : filters
  if (filters.customerId === undefined && filters.accountId === undefined) return found
  const [row] = await sql<[{ filters: SqlFilters }]>`
    select current_filters(${workspaceId}::uuid, ${sql.json(found)}::jsonb) as filters`
  return row.filters
}

type FiltersAsked = { workspaceId: string; filters: FeedbackFilters; of?: CountedKind | undefined }
export type SqlFilters = Omit<FeedbackFilters, 'q'> & { foundIds?: readonly string[] }

export const given = (
  conditions: Readonly<Record<string, string>>,
  filters: Readonly<Record<string, unknown>>,
): string[] =>
  Object.keys(conditions)
    .filter((name) => filters[name] !== undefined)
    .map((name) => conditions[name]!)

export const conjunction = (conditions: readonly string[]): string => conditions.join(' and ') || 'true'

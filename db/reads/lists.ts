import type { RecordKind } from '../../contract/record-schemas.ts'
import type { Sql } from '../connection/postgres.ts'
import { type DeclaredFields, fieldValueAlone } from './field-values.ts'
import {
  conjunction,
  CONDITIONS,
  conversationCondition,
  currentFilters,
  type FeedbackFilters,
  fieldConditions,
  given,
  LEADING,
  RANGES,
  shownOf,
} from './filters.ts'
import { type CountedKind, type ListPlace, RECORD_TABLES, readRecords } from './records.ts'
import { findConversations, findPlaces, findUnknownWords, type FoundPlaces } from './search.ts'

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

export type ListRequest = {
  workspaceId: string
  kind: RecordKind
  filters: FeedbackFilters & MessageFilters & LookUpKeys
  declared?: DeclaredFields
  after: ListPlace | undefined
  isOldestFirst: boolean
  limit: number
}

/**
 * `records`: JSON texts. `next`: the place where the list goes on, if it does. `unknownWords`: for a
 * search without any match, its words that no text has.
 */
export type ListPage = { records: string[]; next: ListPlace | undefined; unknownWords?: string[] }

/** The most records that one call looks at. Then it returns its matches and the place to go on. */
const MOST_LOOKED = 20_000

/**
 * A page of a list, bounded by `limit` and `MOST_BYTES`. It can have fewer records than `limit`, or
 * none, although the list goes on.
 */
export const readList = async (sql: Sql, request: ListRequest, mostLooked = MOST_LOOKED): Promise<ListPage> => {
  const { workspaceId, kind, filters, after, limit } = request
  const { matches, next } = await readPlaces(sql, request, mostLooked)
  const shown = matches.slice(0, limit)
  const read = await readRecords(
    sql,
    workspaceId,
    shown.map(({ id }) => ({ kind, id })),
  )
  const isCut = read.length < shown.length
  const last = isCut ? shown[read.length - 1] : matches.length > limit ? shown.at(-1) : next
  const isEmpty = matches.length === 0 && after === undefined && last === undefined
  const unknownWords = isEmpty
    ? await findUnknownWords(sql, { workspaceId, search: filters.q, of: countedKind(kind) })
    : undefined
  return {
    records: read.filter((record) => record !== undefined),
    next: last && { at: last.at, id: last.id },
    ...(unknownWords && { unknownWords }),
  }
}

const countedKind = (kind: RecordKind): CountedKind => (kind === 'conversation' ? kind : 'feedback')

/** The next places of a list, one more than its page. `next`: the place behind all that it looked at. */
const readPlaces = async (sql: Sql, request: ListRequest, mostLooked: number): Promise<FoundPlaces> => {
  const { workspaceId, kind, after, isOldestFirst, limit } = request
  const { q: search, ...others } = request.filters
  const isConversation = kind === 'conversation'
  const filters = isConversation ? await currentFilters(sql, { ...request, of: kind }) : others
  const most = limit + 1
  if (search !== undefined) {
    const { scope, condition } = conditionsOfList(request)
    const wanted = { workspaceId, filters, after, isOldestFirst, most, condition: `${scope} and ${condition}` }
    return isConversation ? findConversations(sql, wanted) : findPlaces(sql, { ...wanted, search, mostLooked })
  }
  // No index of conversations begins with a filter.
  const [leading] = isConversation ? [] : given(LEADING, filters)
  const isOwned = leading === LEADING.customerId || leading === LEADING.accountId
  const { scope, condition } = conditionsOfList(request, leading, isOwned)
  const rest = sql`${scope}::text, ${condition}::text, ${sql.json(filters)}::jsonb, ${after?.at ?? null}::text,
    ${after?.id ?? null}::uuid, ${isOldestFirst}::boolean, ${most}::int, ${mostLooked}::int`
  const isLookUp = LOOK_UPS.some((name) => request.filters[name] !== undefined)
  const places = isLookUp
    ? sql`look_up_places(${workspaceId}::uuid, ${RECORD_TABLES[kind]}::text, ${sql.json(filters)}::jsonb,
        ${after?.at ?? null}::text, ${after?.id ?? null}::uuid, ${isOldestFirst}::boolean, ${most}::int)`
    : isOwned
      ? sql`list_owned_places(${workspaceId}::uuid, ${leading}::text, ${rest})`
      : sql`list_places(${workspaceId}::uuid, ${RECORD_TABLES[kind]}::text, ${rest})`
  const found = await sql<(ListPlace & { is_match: boolean; is_end: boolean })[]>`
    select id, at, is_match, is_end from ${places}`
  return { matches: found.filter(({ is_match }) => is_match), next: found.find(({ is_end }) => is_end) }
}

/**
 * `scope`: what an index can start from. `condition`: the other filters, but for the leading one,
 * which `list_owned_places` has apart.
 */
const conditionsOfList = ({ kind, filters, declared }: ListRequest, leading?: string, isOwned = false) => {
  const ofFields = fieldConditions(filters, (name) => fieldValueAlone(name, declared))
  return {
    scope: conjunction([
      ...(leading && !isOwned ? [leading] : []),
      ...given(RANGES, filters),
      ...(kind === 'feedback' ? [shownOf(filters)] : []),
    ]),
    condition:
      kind === 'conversation'
        ? conversationCondition(filters)
        : conjunction([...given(CONDITIONS, filters).filter((each) => each !== leading), ...ofFields]),
  }
}

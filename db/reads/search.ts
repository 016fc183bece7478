import { hasPhrase, type Search, type SearchedTerm } from '../../contract/search.ts'
import type { HashKey } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import { storedHashes } from '../tags/tag-hashes.ts'
import type { CountedKind, ListPlace } from './records.ts'

/**
 * The request with the hashes that the index of its workspace has, in place of those of the search.
 */
export const withStoredHashes = <Request extends { workspaceId: string; filters: { q?: Search | undefined } }>(
  hashKey: HashKey,
  request: Request,
): Request => {
  const { workspaceId, filters } = request
  if (filters.q === undefined) return request
  return { ...request, filters: { ...filters, q: storedSearch({ hashKey, workspaceId }, filters.q) } }
}

const storedSearch = (realm: Parameters<typeof storedHashes>[0], search: Search): Search => {
  const stored = ({ words, isPhrase }: SearchedTerm): SearchedTerm => ({
    isPhrase,
    words: words.map(({ text, keys }) => ({ text, keys: keys.map((hashes) => storedHashes(realm, hashes)) })),
  })
  return { ...search, parts: search.parts.map((terms) => terms.map(stored)) }
}

/**
 * The hashes of a search, each with the bit of the word that it stands for, as a table. `needed`:
 * whether a text or block has the words, as SQL over the `mask` of its bits.
 */
const wordsOf = ({ parts }: Search): { words: string; needed: string } => {
  const rows: string[] = []
  let bit = 1n
  const maskOf = ({ words }: SearchedTerm): bigint => {
    let mask = 0n
    for (const alternatives of words.flatMap(({ keys }) => keys)) {
      rows.push(...alternatives.map((hash) => `(${hash}::bigint, ${bit}::bigint)`))
      mask |= bit
      bit <<= 1n
    }
    return mask
  }
  const either = (terms: readonly SearchedTerm[]): string =>
    terms
      .map(maskOf)
      .map((mask) => `mask & ${mask} = ${mask}`)
      .join(' or ')
  const needed = parts.map((terms) => `(${either(terms)})`).join(' and ')
  return { words: `(values ${rows.join()}) as w (hash, bit)`, needed }
}

/** The texts of feedback and of conversations are in blocks from these on (0001_7_search.sql). */
export const FIRST_BLOCKS: Readonly<Record<CountedKind, number>> = { feedback: 0, conversation: 1_048_576 }

/**
 * SQL for the numbers of the texts of the index that have the words. $1 is the workspace. `among`
 * narrows the blocks. First, it looks which filed blocks have all words.
 */
const indexedTexts = (search: Search, of: CountedKind, among = 'true'): string => {
  const { words, needed } = wordsOf(search)
  const first = FIRST_BLOCKS[of]
  const spans = `s.workspace_id = $1 and s.block >= ${first} and s.block < ${first} + 1048576 and ${among}`
  const block = (columns: string, row: string): string =>
    `(select ${columns} from search_block as k where k.workspace_id = $1 and k.block = ${row}.block and k.hash = w.hash offset 0) as k`
  return `select b.block * 1024 + x.place as number
    from (
      select s.block, bit_or(w.bit) as mask from search_span as s cross join ${words} cross join lateral ${block('1', 's')}
      where ${spans} and s.is_filed group by s.block
    ) as b
    cross join lateral (
      select m.place, bit_or(w.bit) as mask
      from ${words} cross join lateral ${block('k.places', 'b')} cross join lateral unnest(k.places) as m (place)
      group by m.place
    ) as x
    where (${needed.replaceAll('mask', 'b.mask')}) and (${needed.replaceAll('mask', 'x.mask')})
    union all
    select x.number from (
      select t.number, (select bit_or(w.bit) from ${words} where w.hash = any (t.hashes)) as mask
      from search_span as s cross join lateral (
        select t.number, t.hashes from search_text as t
        where t.workspace_id = $1 and t.number between s.block * 1024 and s.block * 1024 + 1023 offset 0
      ) as t
      where ${spans} and not s.is_filed
    ) as x where ${needed}`
}

/** SQL for these texts with their records. An entry of the index that has no text stays. */
const recordsOf = (search: Search, of: CountedKind): string =>
  `(${indexedTexts(search, of)}) as i left join search_text as t on t.workspace_id = $1 and t.number = i.number ${JOINS[of].from}`

/** What the texts are joined with, and the id and text of a record; null without a record. */
const JOINS: Readonly<Record<CountedKind, { from: string; id: string; text: string }>> = {
  feedback: {
    from: '',
    id: 't.record_id',
    text: `(select concat_ws(E'\\n', f.title, f.description) from feedback as f where f.workspace_id = $1 and f.id = t.record_id)`,
  },
  conversation: {
    from: 'left join message as m on m.workspace_id = $1 and m.id = t.record_id',
    id: 'coalesce(m.conversation_id, t.record_id)',
    text: `coalesce(m.content, (select c.title from conversation as c where c.workspace_id = $1 and c.id = t.record_id))`,
  },
}

/**
 * The condition that record `r` has the searched words, for statements that find all records at
 * once. The filters of a search with phrases have the ids (`currentFilters`).
 */
export const searchCondition = (search: Search, of: CountedKind): string =>
  hasPhrase(search)
    ? `r.id = any (array(select jsonb_array_elements_text($2 -> 'foundIds')::uuid))`
    : `r.id in (select ${JOINS[of].id} from ${recordsOf(search, of)})`

/** A search in the texts of records of one kind. */
type Searched = { workspaceId: string; search: Search | undefined; of?: CountedKind | undefined }

/** The texts of all index entries with these words; null if there is no such record any more. */
export const readIndexedTexts = (
  sql: Sql,
  { workspaceId, search, of = 'feedback' }: Searched & { search: Search },
): AsyncIterable<{ id: string; text: string | null }[]> =>
  sql
    .unsafe<{ id: string; text: string | null }[]>(
      `select ${JOINS[of].id} as id, ${JOINS[of].text} as text from ${recordsOf(search, of)}`,
      [workspaceId],
    )
    .cursor(TEXTS_OF_A_CURSOR)

const TEXTS_OF_A_CURSOR = 20

/** The ids of all records that have the words and phrases of a search. */
export const findIds = async (sql: Sql, searched: Searched & { search: Search }): Promise<string[]> => {
  const found = new Set<string>()
  for await (const rows of readIndexedTexts(sql, searched))
    for (const { id, text } of rows) if (text !== null && searched.search.matches(text)) found.add(id)
  return [...found]
}

/** `next`: the place where the search goes on, if it does. */
export type FoundPlaces = { matches: ListPlace[]; next: ListPlace | undefined }

type SearchRequest = {
  workspaceId: string
  search: Search
  /** The other filters. */
  filters: Parameters<Sql['json']>[0]
  after: ListPlace | undefined
  isOldestFirst: boolean
  /** Which feedback is wanted, as SQL over `r`. */
  condition: string
  most: number
  mostLooked: number
}

/** A call for a page begins with so many places, since their texts often are enough. */
const FIRST_PLACES = 200
/** It checks the phrases of at most so many more. */
const MOST_CHECKED = 2_000
const CHECKED_AT_ONCE = 100
/** The most bytes of texts in hand; a first text alone may exceed them. */
const MOST_CHECKED_BYTES = 4 * 1024 * 1024

/** At least `most` places of feedback that has the words, if there are as many. */
export const findPlaces = async (sql: Sql, request: SearchRequest): Promise<FoundPlaces> => {
  if (!hasPhrase(request.search)) return readPlaces(sql, request)
  const matches: ListPlace[] = []
  let { after } = request
  for (const most of [FIRST_PLACES, MOST_CHECKED]) {
    const found = await readPlaces(sql, { ...request, after, most })
    const ids = found.matches.map(({ id }) => id)
    const kept = await checkTexts(sql, { ...request, ids, enough: request.most - matches.length })
    const matching = new Set(kept.matching)
    matches.push(...found.matches.filter(({ id }) => matching.has(id)))
    after = kept.checked < ids.length ? found.matches[kept.checked - 1] : found.next
    if (after === undefined || matches.length >= request.most || ids.length < most) break
  }
  return { matches, next: after }
}

type TextCheck = { workspaceId: string; search: Search; ids: readonly string[]; enough?: number }

/** The feedback whose texts match, in the order of `ids`. Ends after `enough` of them. */
export const checkTexts = async (
  sql: Sql,
  { workspaceId, search, ids, enough = Infinity }: TextCheck,
): Promise<{ matching: string[]; checked: number }> => {
  const matching: string[] = []
  let checked = 0
  while (checked < ids.length && matching.length < enough) {
    const part = ids.slice(checked, checked + CHECKED_AT_ONCE)
    const texts = await sql<{ text: string | null }[]>`
      select text from texts_to_index(
        ${workspaceId}::uuid, ${part.map(() => 'feedback')}::text[], ${part}::uuid[], ${MOST_CHECKED_BYTES}::int)`
    for (const [at, { text }] of texts.entries()) if (search.matches(text ?? '')) matching.push(part[at]!)
    checked += texts.length
  }
  return { matching, checked }
}

const readPlaces = async (sql: Sql, request: SearchRequest): Promise<FoundPlaces> => {
  const { workspaceId, search, filters, condition, after, isOldestFirst, most, mostLooked } = request
  const found = indexedTexts(search, 'feedback', 's.block = any ($5)')
  const rows = await sql<(ListPlace & { is_match: boolean })[]>`
    select id, at, is_match from search_places(
      ${workspaceId}::uuid, ${found}::text, ${condition}::text, ${sql.json(filters)}::jsonb, ${after?.at ?? null}::text,
      ${after?.id ?? null}::uuid, ${isOldestFirst}::boolean, ${most}::int, ${mostLooked}::int)`
  const places = rows.map(({ id, at }) => ({ id, at }))
  if (rows.at(-1)?.is_match === false) return { matches: places.slice(0, -1), next: places.at(-1) }
  return { matches: places, next: places.length === most ? places.at(-1) : undefined }
}

type ConversationsRequest = Omit<SearchRequest, 'search' | 'mostLooked'>

/** The next conversations that meet the condition. Finds all of them. */
export const findConversations = async (sql: Sql, request: ConversationsRequest): Promise<FoundPlaces> => {
  const { workspaceId, filters, condition, after, isOldestFirst, most } = request
  const [comparison, order] = isOldestFirst ? ['>', 'asc'] : ['<', 'desc']
  const matches = await sql.unsafe<ListPlace[]>(
    `select r.id, (r.created_at at time zone 'utc')::text as at from conversation as r
    where r.workspace_id = $1::uuid and ($2::jsonb is not null) and (${condition})
      and ($3::text is null or (r.created_at, r.id) ${comparison} ($3::text::timestamp at time zone 'utc', $4::uuid))
    order by r.created_at ${order}, r.id ${order} limit $5`,
    [workspaceId, sql.json(filters), after?.at ?? null, after?.id ?? null, most],
  )
  return { matches: [...matches], next: undefined }
}

/** The searched words that no text has; undefined without a search. */
export const findUnknownWords = async (
  sql: Sql,
  { workspaceId, search, of = 'feedback' }: Searched,
): Promise<string[] | undefined> => {
  if (search === undefined) return undefined
  const words = search.parts.flat().flatMap((term) => term.words)
  const hashes = words.flatMap(({ keys }) => keys.flat())
  const [row] = await sql<[{ known: string[] }]>`
    select known_hashes(${workspaceId}::uuid, ${hashes}::bigint[], ${FIRST_BLOCKS[of]}::int) as known`
  const known = new Set(row.known.map(Number))
  const isKnown = (alternatives: readonly number[]): boolean => alternatives.some((hash) => known.has(hash))
  return [...new Set(words.filter(({ keys }) => !keys.every(isKnown)).map(({ text }) => text))]
}

import { hasPhrase, type Search, type SearchedTerm } from '../../contract/search.ts'
import type { HashKey } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import { storedHashes } from '../tags/tag-hashes.ts'
import type { ListPlace } from './records.ts'

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
 * The hashes of a search, and for each the bit of the word that it stands for. `needed`: whether a
 * text has the words, as SQL over the `mask` of its bits.
 */
const planOf = ({ parts }: Search): { hashes: number[]; bits: string[]; needed: string } => {
  const hashes: number[] = []
  const bits: string[] = []
  let next = 1n
  const maskOf = ({ words }: SearchedTerm): bigint => {
    let mask = 0n
    for (const alternatives of words.flatMap(({ keys }) => keys)) {
      for (const hash of alternatives) {
        hashes.push(hash)
        bits.push(next.toString())
      }
      mask |= next
      next <<= 1n
    }
    return mask
  }
  const either = (terms: readonly SearchedTerm[]): string =>
    terms
      .map(maskOf)
      .map((mask) => `mask & ${mask} = ${mask}`)
      .join(' or ')
  const needed = parts.map((terms) => `(${either(terms)})`).join(' and ')
  return { hashes, bits, needed }
}

/** SQL for the texts of the index that have the words: their block and place. $1 is the workspace. */
const indexedTexts = (search: Search): string => {
  const { hashes, bits, needed } = planOf(search)
  return `select x.block, x.place from (
    select k.block, m.place, bit_or(w.bit) as mask
    from unnest(array[${hashes.join()}]::bigint[], array[${bits.join()}]::bigint[]) as w (hash, bit)
    cross join search_span as s
    cross join lateral (
      select k.block, k.places from search_block as k
      where k.workspace_id = $1 and k.block = s.block and k.hash = w.hash offset 0
    ) as k
    cross join lateral unnest(k.places) as m (place)
    where s.workspace_id = $1
    group by k.block, m.place
  ) as x where ${needed}`
}

/**
 * The condition that feedback `r` has the searched words, for statements that find all of it at
 * once. The filters of a search with phrases have the ids (`withFoundIds`).
 */
export const searchCondition = (search: Search): string =>
  hasPhrase(search)
    ? `r.id = any (array(select jsonb_array_elements_text($2 -> 'foundIds')::uuid))`
    : `r.id in (
        select t.record_id from (${indexedTexts(search)}) as i
        join search_text as t on t.workspace_id = $1 and t.number = i.block * 1024 + i.place)`

/** The texts of all index entries with these words; null if there is no such record any more. */
export const readIndexedTexts = (
  sql: Sql,
  workspaceId: string,
  search: Search,
): AsyncIterable<{ text: string | null }[]> =>
  sql
    .unsafe<{ text: string | null }[]>(
      `select case when f.id is not null then concat_ws(E'\\n', f.title, f.description) end as text from (${indexedTexts(search)}) as i
       left join search_text as t on t.workspace_id = $1 and t.number = i.block * 1024 + i.place
       left join feedback as f on f.workspace_id = $1 and f.id = t.record_id`,
      [workspaceId],
    )
    .cursor(TEXTS_OF_A_CURSOR)

const TEXTS_OF_A_CURSOR = 20

/** `next`: the place where the search goes on, if it does. */
type FoundPlaces = { matches: ListPlace[]; next: ListPlace | undefined }

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

/** A call for a page checks the phrases of at most about so many texts. */
const MOST_CHECKED = 5_000
const CHECKED_AT_ONCE = 100

/** At least `most` places of feedback that has the words, if there are as many. */
export const findPlaces = async (sql: Sql, request: SearchRequest): Promise<FoundPlaces> => {
  if (!hasPhrase(request.search)) return readPlaces(sql, request)
  const matches: ListPlace[] = []
  let { after } = request
  for (let checked = 0; checked < MOST_CHECKED;) {
    const found = await readPlaces(sql, { ...request, after, most: CHECKED_AT_ONCE })
    const kept = await checkPlaces(sql, request, found)
    checked += kept.checked
    matches.push(...kept.matches)
    after = kept.next
    if (after === undefined || matches.length >= request.most) break
  }
  return { matches, next: after }
}

const readPlaces = async (sql: Sql, request: SearchRequest): Promise<FoundPlaces> => {
  const { workspaceId, search, filters, condition, after, isOldestFirst, most, mostLooked } = request
  const { hashes, bits, needed } = planOf(search)
  const rows = await sql<(ListPlace & { is_match: boolean })[]>`
    select id, at, is_match from search_places(
      ${workspaceId}::uuid, ${hashes}::bigint[], ${bits}::bigint[], ${needed}::text, ${condition}::text,
      ${sql.json(filters)}::jsonb, ${after?.at ?? null}::text, ${after?.id ?? null}::uuid, ${isOldestFirst}::boolean,
      ${most}::int, ${mostLooked}::int)`
  const places = rows.map(({ id, at }) => ({ id, at }))
  if (rows.at(-1)?.is_match === false) return { matches: places.slice(0, -1), next: places.at(-1) }
  return { matches: places, next: places.length === most ? places.at(-1) : undefined }
}

/** The places whose texts have the phrases. A check that ends early goes on behind its last text. */
const checkPlaces = async (
  sql: Sql,
  { workspaceId, search }: SearchRequest,
  { matches, next }: FoundPlaces,
): Promise<FoundPlaces & { checked: number }> => {
  const texts = await sql<{ text: string | null }[]>`
    select text from texts_to_check(${workspaceId}::uuid, ${matches.map(({ id }) => id)}::uuid[])`
  const checked = texts.length
  return {
    matches: matches.filter((_, at) => at < checked && search.matches(texts[at]!.text ?? '')),
    next: checked < matches.length ? matches[checked - 1] : next,
    checked: Math.max(checked, 1),
  }
}

/** All feedback that has the phrases of a search: its ids, for `searchCondition`. */
export const findAllIds = async (sql: Sql, workspaceId: string, search: Search): Promise<string[]> => {
  const all = {
    workspaceId,
    search,
    filters: {} as const,
    condition: 'true',
    isOldestFirst: false,
    mostLooked: MOST_CHECKED,
  }
  const ids: string[] = []
  let after: ListPlace | undefined
  do {
    const found = await findPlaces(sql, { ...all, after, most: MOST_CHECKED })
    ids.push(...found.matches.map(({ id }) => id))
    after = found.next
  } while (after !== undefined)
  return ids
}

/** The searched words that no feedback has. */
export const findUnknownWords = async (sql: Sql, workspaceId: string, search: Search): Promise<string[]> => {
  const words = search.parts.flat().flatMap((term) => term.words)
  const hashes = words.flatMap(({ keys }) => keys.flat())
  const [row] = await sql<[{ known: string[] }]>`
    select known_hashes(${workspaceId}::uuid, ${hashes}::bigint[])::text[] as known`
  const known = new Set(row.known.map(Number))
  const isKnown = (alternatives: readonly number[]): boolean => alternatives.some((hash) => known.has(hash))
  return [...new Set(words.filter(({ keys }) => !keys.every(isKnown)).map(({ text }) => text))]
}

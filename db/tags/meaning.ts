import type { Sql } from '../connection/postgres.ts'

/** A theme: hash and title of the tag that places texts in it, if there is one. */
export type KnownTheme = { id: string; number: number; tag: number | null; title: string | null; isMerged: boolean }
/**
 * What earlier texts have taught about a hash: how many texts have the term, and how many of each
 * cell have the hash.
 */
type KnownSum = { hash: number; textsWith: number; sums: Map<number, number> }
/** One of the last texts of the workspace. A text with a theme comes without its terms. */
type LastText = { id: string; terms: number[]; tags: number[]; hasTheme: boolean }

/**
 * The themes of a workspace, and its last texts without `except`, the oldest first. `isTaught`: whether
 * people have taught mood or kind, whose cells are below 0.
 */
export const recallThemes = async (
  sql: Sql,
  { workspaceId, except, mostLast }: { workspaceId: string; except: readonly string[]; mostLast: number },
): Promise<{ themes: KnownTheme[]; last: LastText[]; isTaught: boolean }> => {
  const [themes, last] = await Promise.all([
    sql<KnownTheme[]>`
      select id, number, tag_hash::float8 as tag, title, merged_into is not null as "isMerged" from theme
      where workspace_id = ${workspaceId} order by number`,
    // One value: hundreds of rows cost more to read.
    sql<[{ rows: [string, number[], number[], boolean][] | null; isTaught: boolean }]>`
      select json_agg(json_build_array(id, terms, tags, has_theme)) as rows,
        exists (select from meaning_sum where workspace_id = ${workspaceId} and hash = 0 and cell < 0) as "isTaught"
      from last_texts(${workspaceId}::uuid, ${[...except]}::uuid[], ${mostLast}::int)`,
  ])
  const [{ rows, isTaught }] = last
  const newestFirst = (rows ?? []).map(([id, terms, tags, hasTheme]) => ({ id, terms, tags, hasTheme }))
  return { themes, last: newestFirst.reverse(), isTaught }
}

/** `hashes`: in their stored form (`storedHashes`). */
export const recallSums = async (sql: Sql, workspaceId: string, hashes: Iterable<number>): Promise<KnownSum[]> => {
  // One value: thousands of small rows cost more to read.
  const [row] = await sql<[{ sums: [number, number, number[], number[]][] | null }]>`
    select json_agg(json_build_array(hash, texts_with, cells, texts)) as sums
    from known_meaning(${workspaceId}::uuid, ${[...hashes]}::bigint[])`
  return (row.sums ?? []).map(([hash, textsWith, cells, texts]) => {
    const sums = new Map<number, number>()
    for (const [at, cell] of cells.entries()) sums.set(cell, texts[at]!)
    return { hash, textsWith, sums }
  })
}

/** Stored feedback that may be near-identical: `bands`: the bands that it shares. */
export type NearText = { id: string; bands: number[]; marks: Uint8Array; similarId: string | null }

export const findNearTexts = async (
  sql: Sql,
  { workspaceId, bands, except }: { workspaceId: string; bands: readonly number[]; except: readonly string[] },
): Promise<NearText[]> => {
  const [{ rows }] = await sql<[{ rows: [string, number[], string, string | null][] | null }]>`
    select json_agg(json_build_array(id, bands, encode(marks, 'hex'), similar_id)) as rows
    from near_texts(${workspaceId}::uuid, ${[...bands]}::bigint[], ${[...except]}::uuid[])`
  return (rows ?? []).map(([id, shared, marks, similarId]) => ({
    id,
    bands: shared,
    marks: Buffer.from(marks, 'hex'),
    similarId,
  }))
}

import type { HashKey } from '../../contract/identity/keys.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { readIndexedTexts, withStoredHashes } from '../../db/reads/search.ts'
import { searchOfWords } from '../../tagger/searched-words.ts'
import { createTally, type Residue, type Sought } from './text-search.ts'

/**
 * Searches the search index, which has hashes of words. Finds entries that have all words of a
 * string although the text of their record does not have them, or without a record.
 */
export const residueInSearch = async (
  sql: Sql,
  readHashKey: () => Promise<HashKey>,
  sought: readonly Sought[],
): Promise<Residue[]> => {
  const tally = createTally()
  const [indexed] = await sql`select number from search_text limit 1`
  // A database without an index may have no key yet.
  if (indexed === undefined) return []
  const hashKey = await readHashKey()
  const workspaces = await sql<{ id: string }[]>`select id from workspace order by id`
  for (const string of sought) {
    const search = searchOfWords(string.text)
    if (search === undefined) continue
    for (const { id: workspaceId } of workspaces) {
      const { filters } = withStoredHashes(hashKey, { workspaceId, filters: { q: search } })
      for (const kind of ['feedback', 'conversation'] as const) {
        for await (const rows of readIndexedTexts(sql, { workspaceId, search: filters.q, of: kind })) {
          for (const { text } of rows)
            if (text === null || !search.matches(text)) tally.note([string], 'search_block.hash')
        }
      }
    }
  }
  return tally.residue()
}

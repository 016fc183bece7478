import type { Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import { storedHashes } from './tag-hashes.ts'

/** The number of a workspace's texts with a term, by kind: the `TermCounts` of the tagger. */
type KnownTerm = {
  hash: number
  texts: number
  determined: number
  free: number
  valued: number
  judged: number
  given: number
}

/**
 * A tag in use: the hash of its key, and how often people and the tagger gave it with this title.
 */
type KnownTag = { hash: number; title: string; people: number; generated: number }

type MemoryTotals = { texts: number; judged: number; given: number }
export type RecalledMemory = MemoryTotals & { terms: KnownTerm[]; tags: KnownTag[] }

type RecallRequest = {
  hashes: readonly number[]
  /** Records whose own shares do not count, so that a text does not confirm its own terms. */
  except: readonly string[]
}

/**
 * Reads the counts of these terms from a workspace's memory, and the tags in use whose keys are
 * among the terms.
 */
export const recall = async (sql: Sql, realm: Realm, { hashes, except }: RecallRequest): Promise<RecalledMemory> => {
  const stored = storedHashes(realm, hashes)
  const plain = new Map(stored.map((hash, at) => [hash, hashes[at] ?? 0]))
  const ws = realm.workspaceId
  const [[totals = { texts: 0, judged: 0, given: 0 }], terms, tags] = await Promise.all([
    sql<MemoryTotals[]>`
      select texts::float8 as texts, judged::float8 as judged, given::float8 as given
      from known_texts(${ws}::uuid, ${except}::uuid[])`,
    // One value: thousands of small rows cost more to read.
    sql<[{ rows: [number, number, number, number, number, number, number][] | null }]>`
      select json_agg(json_build_array(hash, texts, determined, free, valued, judged, given)) as rows
      from known_terms(${ws}::uuid, ${stored}::bigint[], ${except}::uuid[])`,
    sql<KnownTag[]>`
      select hash::float8 as hash, title, people, generated
      from known_tags(${ws}::uuid, ${stored}::bigint[], ${except}::uuid[])`,
  ])
  const toPlain = (hash: number): number => plain.get(hash) ?? 0
  return {
    ...totals,
    terms: (terms[0].rows ?? []).map(([hash, texts, determined, free, valued, judged, given]) => ({
      hash: toPlain(hash),
      texts,
      determined,
      free,
      valued,
      judged,
      given,
    })),
    tags: tags.map((tag) => ({ ...tag, hash: toPlain(tag.hash) })),
  }
}

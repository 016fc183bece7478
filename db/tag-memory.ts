import type { Realm } from '../contract/identity/own-id.ts'
import type { Sql } from './postgres.ts'
import { storedHashes } from './tag-hashes.ts'

/** What a workspace's texts have told about a term: counts of texts, as `TermCounts` of the tagger. */
export type KnownTerm = {
  hash: number
  texts: number
  determined: number
  free: number
  valued: number
  judged: number
  given: number
}

/** A tag in use: the hash of its key, and how often people and the tagger gave it in this form. */
export type KnownTag = { hash: number; title: string; people: number; generated: number }

export type Recalled = {
  texts: number
  judged: number
  given: number
  terms: KnownTerm[]
  tags: KnownTag[]
}

type RecallRequest = {
  hashes: readonly number[]
  /** Records whose own shares do not count: what they are measured by is what the others have taught. */
  except: readonly string[]
}

/** What a workspace's memory says about these terms, and the tags in use that have them as their key. */
export const recall = async (sql: Sql, realm: Realm, { hashes, except }: RecallRequest): Promise<Recalled> => {
  const stored = storedHashes(realm, hashes)
  const plain = new Map(stored.map((hash, at) => [hash, hashes[at] ?? 0]))
  const ws = realm.workspaceId
  const [totals, terms, tags] = await Promise.all([
    sql<{ texts: string; judged: string; given: string }[]>`
      select texts, judged, given from known_texts(${ws}, ${except}::uuid[])`,
    sql<(Omit<KnownTerm, 'hash'> & { hash: string })[]>`
      select hash, texts, determined, free, valued, judged, given
      from known_terms(${ws}, ${stored}::bigint[], ${except}::uuid[])`,
    sql<(Omit<KnownTag, 'hash'> & { hash: string })[]>`
      select hash, title, people, generated from known_tags(${ws}, ${stored}::bigint[], ${except}::uuid[])`,
  ])
  const toPlain = (hash: string): number => plain.get(Number(hash)) ?? 0
  return {
    texts: Number(totals[0]?.texts ?? 0),
    judged: Number(totals[0]?.judged ?? 0),
    given: Number(totals[0]?.given ?? 0),
    terms: terms.map((term) => ({ ...term, hash: toPlain(term.hash) })),
    tags: tags.map((tag) => ({ ...tag, hash: toPlain(tag.hash) })),
  }
}

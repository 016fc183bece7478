import type { Realm } from '../../contract/identity/own-id.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type Recalled, recall } from '../../db/tags/tag-memory.ts'
import type { Share } from '../../db/tags/tagging.ts'
import { hashTerm } from '../../tagger/hash.ts'
import type { Delta, Memory } from '../../tagger/memory.ts'
import { hashesOf, type ReadText } from '../../tagger/tag-batch.ts'

/**
 * Puts into a memory what the workspace knows about the terms of texts and about tags in use among
 * these terms: it does not read the workspace's whole memory. A term that was asked for once is not
 * asked for again. `except`: ids of texts whose own share is left out.
 */
export const recallInto = (
  memory: Memory,
  sql: Sql,
  { realm, except }: { realm: Realm; except: readonly string[] },
): ((read: readonly ReadText[]) => Promise<void>) => {
  const asked = new Set<number>()
  return async (read) => {
    const hashes = [...hashesOf(read)].filter((hash) => !asked.has(hash))
    const isFirst = asked.size === 0
    for (const hash of hashes) asked.add(hash)
    if (hashes.length === 0 && !isFirst) return
    const known = await recall(sql, realm, { hashes, except })
    if (isFirst) {
      memory.texts += known.texts
      memory.judged += known.judged
      memory.given += known.given
    }
    for (const { hash, ...counts } of known.terms) memory.terms.set(hash, counts)
    putTags(memory, keysOf(read), known.tags)
  }
}

/** The store has only hashes of the keys of tags; the keys themselves are in the texts that ask. */
const keysOf = (read: readonly ReadText[]): Map<number, string> =>
  new Map(
    read.flatMap(({ analysis, learned }) => [
      ...[...analysis.candidates.values()].map(({ hash, key }) => [hash, key] as const),
      ...[...learned.tags.keys()].map((key) => [hashTerm(key), key] as const),
    ]),
  )

const putTags = (memory: Memory, keys: ReadonlyMap<number, string>, tags: Recalled['tags']): void => {
  for (const { hash, title, people, generated } of tags) {
    const key = keys.get(hash)
    if (key === undefined) continue
    const titles = memory.tags.get(key) ?? new Map<string, { people: number; generated: number }>()
    memory.tags.set(key, titles.set(title, { people, generated }))
  }
}

/** What a text adds to the memory, in the form in which it is stored. */
export const toShare = ({ judged, given, terms, tags }: Delta): Share => ({
  judged: judged > 0,
  given,
  terms: [...terms].map(([hash, counts]) => ({
    hash,
    determined: counts.determined > 0,
    free: counts.free > 0,
    valued: counts.valued > 0,
    given: counts.given > 0,
  })),
  tags: [...tags].flatMap(([key, titles]) => [...titles.keys()].map((title) => ({ hash: hashTerm(key), title }))),
})

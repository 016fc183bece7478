import type { Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type RecalledMemory, recall } from '../../db/tags/tag-memory.ts'
import type { Share } from '../../db/tags/store-tags.ts'
import { storedHashes } from '../../db/tags/tag-hashes.ts'
import { hashTerm, type Delta, type Memory } from '../../tagger/memory.ts'
import { hashesOf, type AnalysedText } from '../../tagger/tag-texts.ts'

/**
 * Returns a function that loads a part of the workspace's tag memory: the counts of the terms in
 * some texts, and the tags in use among these terms. Call it again when the texts have more terms:
 * it loads each term once, and keeps counts that were added since. `except`: ids of texts whose own
 * share does not count.
 */
export const recallInto = (
  memory: Memory,
  sql: Sql,
  { realm, except }: { realm: Realm; except: readonly string[] },
): ((analysed: readonly AnalysedText[]) => Promise<void>) => {
  const asked = new Set<number>()
  let hasTotals = false
  return async (analysed) => {
    const hashes = [...hashesOf(analysed)].filter((hash) => !asked.has(hash))
    for (const hash of hashes) asked.add(hash)
    if (hashes.length === 0 && hasTotals) return
    const known = await recall(sql, realm, { hashes, except })
    if (!hasTotals) {
      hasTotals = true
      memory.texts += known.texts
      memory.judged += known.judged
      memory.given += known.given
      // `left` stays 0: the service learns nothing from an empty list of tags.
    }
    for (const { hash, ...counts } of known.terms) memory.terms.set(hash, counts)
    putTags(memory, keysOf(analysed), known.tags)
  }
}

/** The keys of tags in these texts, by hash: Postgres has the hashes only. */
const keysOf = (analysed: readonly AnalysedText[]): Map<number, string> =>
  new Map(
    analysed.flatMap(({ analysis, learned }) => [
      ...[...analysis.candidates.values()].map(({ hash, key }) => [hash, key] as const),
      ...[...learned.tags.keys()].map((key) => [hashTerm(key), key] as const),
    ]),
  )

const putTags = (memory: Memory, keys: ReadonlyMap<number, string>, tags: RecalledMemory['tags']): void => {
  for (const { hash, title, people, generated } of tags) {
    const key = keys.get(hash)
    if (key === undefined) continue
    const titles = memory.tags.get(key) ?? new Map<string, { people: number; generated: number }>()
    memory.tags.set(key, titles.set(title, { people, generated }))
  }
}

/** The shares of texts in their stored form. */
export const toShares = (realm: Realm, deltas: readonly Delta[]): Share[] => {
  const hashes = storedHashes(
    realm,
    deltas.flatMap(({ terms, tags }) => [...terms.keys(), ...[...tags.keys()].map(hashTerm)]),
  )
  let place = 0
  return deltas.map(({ judged, given, terms, tags }) => ({
    judged: judged > 0,
    given,
    terms: Array.from(terms.values(), (counts) => ({
      hash: hashes[place++]!,
      determined: counts.determined > 0,
      free: counts.free > 0,
      valued: counts.valued > 0,
      given: counts.given > 0,
    })),
    tags: [...tags.values()].flatMap((titles) => {
      const hash = hashes[place++]!
      return Array.from(titles.keys(), (title) => ({ hash, title }))
    }),
  }))
}

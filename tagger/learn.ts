import { hashInTag, hashTerm, type Delta, newMemory, NOTHING, type TermCounts } from './memory.ts'
import type { Analysis } from './generate-tags.ts'
import { traitsOf } from './lexicon.ts'
import { isAfterDeterminer } from './names.ts'
import { keyOfTag } from './tag-key.ts'

/**
 * The delta that a text adds to a memory: its hashed terms, and the tags that people gave it.
 * `given` is undefined if people have not tagged the text.
 */
export const learn = (analysis: Analysis, given?: readonly string[]): Delta => {
  const { candidates, reading } = analysis
  const titles = new Map(
    (given ?? []).slice(0, MAX_LEARNED_TAGS).map((tag) => [keyOfTag(tag, reading.lexicon), tag.trim().toLowerCase()]),
  )
  titles.delete('')
  const judged = given === undefined ? 0 : 1
  const delta: Delta = { ...newMemory(), texts: 1, judged, given: titles.size, left: given?.length === 0 ? 1 : 0 }
  const toCounts = (key: string, seen: Seen): TermCounts => ({
    texts: 1,
    determined: seen.determined > 0 ? 1 : 0,
    free: seen.free > 0 ? 1 : 0,
    valued: seen.valued > 0 ? 1 : 0,
    judged,
    given: titles.has(key) ? 1 : 0,
  })
  for (const candidate of candidates.values()) {
    if (delta.terms.size >= MAX_LEARNED_TERMS) break
    const { key, hash, determined, free, opinionated, described, praised } = candidate
    delta.terms.set(hash, toCounts(key, { determined, free, valued: opinionated + described + praised }))
  }
  for (const [key, isDetermined] of strangeKeys(analysis)) {
    // The text may have this word as a phrase, too, with the same hash.
    const { determined, valued } = delta.terms.get(hashTerm(key)) ?? NOTHING
    delta.terms.set(hashTerm(key), toCounts(key, { determined: isDetermined ? 1 : determined, free: 1, valued }))
  }
  for (const key of titles.keys()) {
    for (const stem of key.split(' '))
      delta.terms.set(hashInTag(stem), toCounts(key, { determined: 0, free: 0, valued: 0 }))
  }
  for (const [key, title] of titles) delta.tags.set(key, new Map([[title, { people: 1, generated: 0 }]]))
  return delta
}

/**
 * The most phrases of a text, and the most words that may be names. Without a bound, one hostile
 * text could fill the memory.
 */
export const MAX_LEARNED_TERMS = 1_000
/** The most tags of a text. */
const MAX_LEARNED_TAGS = 100

/** Counts of a term in one text. It only matters whether they are zero. */
type Seen = { readonly determined: number; readonly free: number; readonly valued: number }

/**
 * The stems of strange words, and whether a determiner stands before the word at least once. The
 * memory counts each stem as a term. By these counts, `remainingStrange` tells words of the
 * workspace from names.
 */
export const strangeKeys = ({ reading, tokens, strange }: Analysis): Map<string, boolean> => {
  const keys = new Map<string, boolean>()
  for (const at of strange.places) {
    const token = tokens[at]
    if (token?.kind !== 'word' || keys.size >= MAX_LEARNED_TERMS) continue
    const isDetermined = isAfterDeterminer(tokens, at, reading.lexicon)
    const { stem } = traitsOf(reading.lexicon, token.text)
    keys.set(stem, isDetermined || keys.get(stem) === true)
  }
  return keys
}

/** The delta that the generated tags of a text add to a memory. */
export const learnGenerated = ({ reading }: Analysis, tags: readonly string[]): Delta => {
  const delta = newMemory()
  for (const tag of tags) delta.tags.set(keyOfTag(tag, reading.lexicon), new Map([[tag, { people: 0, generated: 1 }]]))
  return delta
}

/**
 * A hash of 53 bits, which fit a JavaScript number and a bigint. It is the same on every runtime,
 * and not secret in itself.
 */
export const hashTerm = (term: string): number => {
  let high = 0x9e3779b9
  let low = 0x85ebca6b
  for (let at = 0; at < term.length; at++) {
    const code = term.charCodeAt(at)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low ^ (code + (high >>> 15)), 0xc2b2ae35)
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x7feb352d)
  low = Math.imul(low ^ (low >>> 13) ^ high, 0x846ca68b)
  return ((high ^ (high >>> 15)) & 0x1fffff) * 0x1_0000_0000 + ((low ^ (low >>> 16)) >>> 0)
}

/**
 * The hash under which the memory counts the texts to which people gave a tag with this stem.
 */
export const hashInTag = (stem: string): number => hashTerm(`in tag\n${stem}`)

/** Counts of a workspace's texts for one term. */
export type TermCounts = {
  texts: number
  /** Texts with the term after a determiner at least once. */
  determined: number
  /** Texts with the term outside longer phrases at least once. */
  free: number
  /** Texts with praise, blame or an `is` near the term at least once. */
  valued: number
  /** Texts with the term that people tagged, with any tags or none. */
  judged: number
  /** Texts to which people gave the term as a tag. */
  given: number
}

export const NOTHING: Readonly<TermCounts> = { texts: 0, determined: 0, free: 0, valued: 0, judged: 0, given: 0 }

/** A tag in use: how often people and the tagger gave it. */
type TagCounts = { people: number; generated: number }

/**
 * The memory of a workspace's texts, without the texts: hashed terms with counts, and the tags in
 * use. The counts that a text adds follow from the text and its tags alone. So the database can
 * subtract them again (db/functions/tag-memory.sql).
 */
export type Memory = {
  texts: number
  /** Texts that people tagged, with any tags or none. */
  judged: number
  /** The total number of tags that people gave to these texts. */
  given: number
  /** Those of them that people left without a tag. */
  left: number
  readonly terms: Map<number, TermCounts>
  /** The tags in use by their key, then by their spelling. */
  readonly tags: Map<string, Map<string, TagCounts>>
}

/** The counts that one or more texts add to a memory. */
export type Delta = Memory

export const MAX_TERMS = 100_000
const MAX_TAGS_IN_USE = 5_000
/** A full memory is cut to this share, so that cuts are rare. */
const KEPT_SHARE = 0.75

export const newMemory = (): Memory => ({ texts: 0, judged: 0, given: 0, left: 0, terms: new Map(), tags: new Map() })

/**
 * Adds a delta to the memory in place. Beyond its bounds, the memory loses its rarest terms and
 * tags.
 */
export const addDelta = (memory: Memory, delta: Delta): void => {
  memory.texts += delta.texts
  memory.judged += delta.judged
  memory.given += delta.given
  memory.left += delta.left
  for (const [hash, added] of delta.terms) {
    const known = memory.terms.get(hash)
    if (known === undefined) memory.terms.set(hash, { ...added })
    else addTerm(known, added)
  }
  for (const [key, titles] of delta.tags) addTitles(memory, key, titles)
  bound(memory)
}

const addTerm = (known: TermCounts, added: TermCounts): void => {
  known.texts += added.texts
  known.determined += added.determined
  known.free += added.free
  known.valued += added.valued
  known.judged += added.judged
  known.given += added.given
}

const addTitles = (memory: Memory, key: string, titles: ReadonlyMap<string, TagCounts>): void => {
  const known = memory.tags.get(key) ?? new Map<string, TagCounts>()
  memory.tags.set(key, known)
  for (const [title, added] of titles) {
    const { people, generated } = known.get(title) ?? { people: 0, generated: 0 }
    known.set(title, { people: people + added.people, generated: generated + added.generated })
  }
}

/** Removes the rarest terms and tags. Each use by people weighs as much as 100 other texts. */
const bound = (memory: Memory): void => {
  if (memory.terms.size > MAX_TERMS) {
    keepMost(memory.terms, MAX_TERMS, ({ texts, given }) => texts + 100 * given)
  }
  if (memory.tags.size > MAX_TAGS_IN_USE) keepMost(memory.tags, MAX_TAGS_IN_USE, usesOf)
}

const usesOf = (titles: ReadonlyMap<string, TagCounts>): number => {
  let uses = 0
  for (const { people, generated } of titles.values()) uses += 100 * people + generated
  return uses
}

const keepMost = <Key extends string | number, Value>(
  map: Map<Key, Value>,
  max: number,
  worth: (value: Value) => number,
): void => {
  const ranked = [...map].sort(([keyA, a], [keyB, b]) => worth(b) - worth(a) || (keyA < keyB ? -1 : 1))
  for (const [key] of ranked.slice(Math.floor(max * KEPT_SHARE))) map.delete(key)
}

/**
 * The most frequent spelling of a tag in the workspace. Spellings of people come first. A generated
 * spelling must satisfy `isOfLanguage`.
 */
export const titleInUse = (
  memory: Memory,
  key: string,
  isOfLanguage: (title: string) => boolean,
): string | undefined => {
  let best: string | undefined
  let bestUses = 0
  for (const [title, { people, generated }] of memory.tags.get(key) ?? []) {
    if (people === 0 && !isOfLanguage(title)) continue
    const uses = 1_000_000 * people + generated
    if (uses > bestUses || (uses === bestUses && best !== undefined && title < best)) {
      best = title
      bestUses = uses
    }
  }
  return best
}

import type { Candidate } from './candidates.ts'
import weights from './data/weights.json' with { type: 'json' }
import { FEATURES, measure, measurePeople, NOTHING, PEOPLE_FEATURES } from './features.ts'
import type { Memory } from './memory.ts'
import type { Reading } from './reading.ts'

/** A candidate with the logarithm of its odds to be a tag that a person would give. */
export type Scored = { readonly candidate: Candidate; readonly score: number }

/** `words` for English, whose nouns are known; `plain` for languages that are known by short lists; `people` on top. */
export type Weights = { readonly words: number[]; readonly plain: number[]; readonly people: number[] }

const FITTED: Weights = {
  words: FEATURES.map((name) => weights.words[name]),
  plain: FEATURES.map((name) => weights.plain[name]),
  people: PEOPLE_FEATURES.map((name) => weights.people[name]),
}
/** From this many texts tagged by people on, their tags say more than the words do. */
export const MIN_JUDGED_TEXTS = 5

/** Scores the open candidates, and those that people gave before. */
export function scoreCandidates(
  {
    reading,
    candidates,
    memory,
  }: { reading: Reading; candidates: ReadonlyMap<string, Candidate>; memory: Memory | undefined },
  { words, plain, people }: Weights = FITTED,
): Scored[] {
  const weightsOfWords = reading.lexicon.language === 'en' ? words : plain
  const scored: Scored[] = []
  const setting = { reading, memory }
  const values: number[] = []
  for (const candidate of candidates.values()) {
    const isOpen = candidate.isOpen || (candidate.isDoubtful && isOwnWord(candidate, memory))
    if (!isOpen && memory?.tags.has(candidate.key) !== true) continue
    if (isOpen) measure(candidate, setting, values)
    const score = isOpen ? dot(weightsOfWords, values) : 0
    if (memory !== undefined && memory.judged >= MIN_JUDGED_TEXTS) {
      scored.push({ candidate, score: dot(people, measurePeople(candidate, memory, isOpen ? score : undefined)) })
    } else if (isOpen) scored.push({ candidate, score })
  }
  return scored
}

/** Several of a workspace's texts have it, some of them after a determiner: a word of its own, not a name or a slip. */
function isOwnWord({ hash }: Candidate, memory: Memory | undefined): boolean {
  const { texts, determined } = memory?.terms.get(hash) ?? NOTHING
  return texts >= MIN_TEXTS_OF_OWN_WORD && determined >= texts * MIN_DETERMINED_SHARE
}

const MIN_TEXTS_OF_OWN_WORD = 3
const MIN_DETERMINED_SHARE = 0.15

function dot(one: readonly number[], other: readonly number[]): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0)
  return sum
}

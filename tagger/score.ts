import type { Candidate } from './candidate.ts'
import weights from './data/weights.json' with { type: 'json' }
import { FEATURES, measure, measurePeople, PEOPLE_FEATURES } from './features.ts'
import { type Memory, NOTHING } from './memory.ts'
import type { Reading } from './reading.ts'

/**
 * A candidate with the logarithm of the odds that a person would give it as a tag. `alone` is its
 * score as the only tag of a text.
 */
export type Scored = { readonly candidate: Candidate; readonly score: number; readonly alone: number }

/**
 * The weight of people's tags from 0 to 1. `workspace`: the least weight in any `score`. `alone`:
 * the weight in `alone` for a term that people never gave.
 */
type Trust = { readonly workspace: number; readonly alone: number }

export type Scores = { readonly scored: readonly Scored[]; readonly trust: Trust }

/**
 * The weights of FEATURES in English (`words`) and in other languages (`plain`), and the weights of
 * PEOPLE_FEATURES (`people`).
 */
export type Weights = { readonly words: number[]; readonly plain: number[]; readonly people: number[] }

const FITTED: Weights = {
  words: FEATURES.map((name) => weights.words[name]),
  plain: FEATURES.map((name) => weights.plain[name]),
  people: PEOPLE_FEATURES.map((name) => weights.people[name]),
}

/**
 * Scores the open candidates, and the doubtful candidates that are established. Once people have
 * tagged a text, also scores the tags in use.
 */
export const scoreCandidates = (
  { reading, candidates, memory }: { reading: Reading; candidates: ReadonlyMap<string, Candidate>; memory: Memory },
  { words, plain, people }: Weights = FITTED,
): Scores => {
  const weightsOfWords = reading.lexicon.language === 'en' ? words : plain
  const scored: Scored[] = []
  const context = { reading, memory }
  const values: number[] = []
  const trust = trustIn(memory)
  for (const candidate of candidates.values()) {
    const isOpen = candidate.isOpen || (candidate.isDoubtful && isEstablished(candidate, memory))
    if (!isOpen && !memory.tags.has(candidate.key)) continue
    if (isOpen) measure(candidate, context, values)
    const byWords = isOpen ? dot(weightsOfWords, values) : undefined
    if (memory.judged === 0) {
      if (byWords !== undefined) scored.push({ candidate, score: byWords, alone: byWords })
      continue
    }
    const byPeople = dot(people, measurePeople(candidate, memory, byWords))
    const { judged, given } = memory.terms.get(candidate.hash) ?? NOTHING
    const isDecidedByPeople = given > 0 || byWords === undefined
    const ofTerm = isDecidedByPeople ? 1 : Math.min(1, judged / TRUSTED_TEXTS_OF_TERM)
    const ofOnlyTag = isDecidedByPeople ? 1 : trust.alone
    const mix = (trusted: number): number => trusted * byPeople + (1 - trusted) * (byWords ?? 0)
    const alone = mix(ofOnlyTag) - (1 - ofOnlyTag) * ofTerm * UNWANTED
    scored.push({ candidate, score: mix(Math.max(ofTerm, trust.workspace)), alone })
  }
  return { scored, trust }
}

/**
 * People's tags have their full weight once people tagged this many texts, plus this share of the
 * untagged texts.
 */
const TRUSTED_TEXTS = 15
const TRUSTED_SHARE = 0.05
/**
 * For a single term, people's tags have their full weight once people tagged this many texts with
 * the term.
 */
const TRUSTED_TEXTS_OF_TERM = 10
/** The most that `alone` loses for a term that people never gave. */
const UNWANTED = 0.5
/**
 * If people left this share of texts without a tag, the tagger may leave texts without a tag, too.
 */
const USUALLY_LEFT_SHARE = 1 / 3

const trustIn = ({ texts, judged, left }: Memory): Trust => {
  if (judged === 0) return { workspace: 0, alone: 0 }
  const workspace = Math.min(1, judged / (TRUSTED_TEXTS + TRUSTED_SHARE * (texts - judged)))
  const usuallyLeft = Math.min(1, left / judged / USUALLY_LEFT_SHARE)
  return { workspace, alone: Math.min(workspace, usuallyLeft) }
}

/**
 * Whether the term is probably neither a name nor a typing error: several texts of the workspace have it,
 * some of them after a determiner.
 */
const isEstablished = ({ hash }: Candidate, memory: Memory): boolean => {
  const { texts, determined } = memory.terms.get(hash) ?? NOTHING
  return texts >= MIN_TEXTS && determined >= texts * MIN_DETERMINED_SHARE
}

const MIN_TEXTS = 3
const MIN_DETERMINED_SHARE = 0.15

const dot = (a: readonly number[], b: readonly number[]): number => {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum
}

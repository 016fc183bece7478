import { choose } from '../../tagger/choose.ts'
import type { Thresholds } from '../../tagger/choose.ts'
import type { Candidate } from '../../tagger/candidate.ts'
import { FEATURES, measure, measurePeople, PEOPLE_FEATURES } from '../../tagger/features.ts'
import type { WordTraits } from '../../tagger/lexicon.ts'
import { scoreCandidates } from '../../tagger/score.ts'
import type { Weights } from '../../tagger/score.ts'
import { keyOfTag } from '../../tagger/tag-key.ts'
import { fitLogistic } from './logistic.ts'
import type { TrainingExample } from './logistic.ts'
import type { Case, Cases } from './tag-cases.ts'
import { readSupport } from './tag-data.ts'

export type Model = { readonly weights: Weights; readonly thresholds: Thresholds }

const SUPPORT = new Set(readSupport('dev').map(({ id }) => id))
const PENALTY = 40
const PEOPLE_PENALTY = 1

export const fitModel = ({ none, untagged, tagged }: Cases): Model => {
  const weights = fitWeights({ none, untagged, tagged })
  const zero = { many: 0, one: 0, manyPeople: 0, onePeople: 0 }
  const many = bestThreshold([...none, ...untagged], weights, (threshold) => {
    return { ...zero, many: threshold, one: threshold }
  })
  const ofWords = { ...zero, many, one: many - ONE_BELOW }
  const manyPeople = bestThreshold(tagged, weights, (threshold) => {
    return { ...ofWords, manyPeople: threshold, onePeople: threshold }
  })
  return { weights, thresholds: { ...ofWords, manyPeople, onePeople: manyPeople - ONE_OF_PEOPLE_BELOW } }
}

/**
 * How far the threshold of the only tag of a text lies below that of several tags. A doubtful tag
 * is better than none, but less so where people left texts without a tag.
 */
const ONE_BELOW = 1.2
const ONE_OF_PEOPLE_BELOW = 0.3

/** The support texts are too few to fit the weights `people` and `plain`. */
const isReview = ({ text }: Case): boolean => !SUPPORT.has(text.id)

const fitWeights = ({ none, untagged, tagged }: Cases): Weights => {
  const seen = [...none, ...untagged]
  const words = withFixed(
    fitLogistic(
      seen.flatMap((tagCase) => examplesOf(tagCase, (candidate) => candidate)),
      PENALTY,
    ),
    FIXED,
  )
  const plain = withFixed(
    fitLogistic(
      seen.filter(isReview).flatMap((tagCase) => examplesOf(tagCase, withoutWords)),
      PENALTY,
    ),
    FIXED_PLAIN,
  )
  const people = fitLogistic(
    tagged.filter(isReview).flatMap(({ analysis: { reading, candidates }, memory, gold }) => {
      const untaught = { ...memory, judged: 0 }
      const scores = new Map(
        scoreCandidates({ reading, candidates, memory: untaught }, { words, plain, people: [] }).scored.map(
          ({ candidate, score }) => [candidate, score],
        ),
      )
      return [...candidates.values()]
        .filter((candidate) => scores.has(candidate) || memory.tags.has(candidate.key))
        .map((candidate) => ({
          values: measurePeople(candidate, memory, scores.get(candidate)),
          isTag: gold.has(candidate.key),
        }))
    }),
    PEOPLE_PENALTY,
  )
  return { words, plain, people: people.map((weight, at) => (PEOPLE_FEATURES[at] === 'left out' ? LEFT_OUT : weight)) }
}

/**
 * Weights set by hand. Most fitted texts are reviews of cameras, phones and players, which rarely
 * have requests, events, food, staff, places or compounds of the hand-written list (`named`).
 */
const FIXED = { requested: 0.6, 'joined event': 1.7, named: 1.5, 'group food': 0, 'group person': 0, 'group place': 0 }

/**
 * The lists of other languages have compounds for topics of feedback only. English also has those
 * of a dictionary, so the weight that is fitted on English texts is too low.
 */
const FIXED_PLAIN = { ...FIXED, compound: 2.2 }

/**
 * Set by hand. In reviews, people leave out a tag because the text neither praises nor blames the
 * topic, not because the tag is bad.
 */
const LEFT_OUT = -1.5

const withFixed = (weights: readonly number[], fixed: Readonly<Record<string, number>>): number[] => {
  return FEATURES.map((name, at) => fixed[name] ?? weights[at] ?? 0)
}

const examplesOf = (
  { analysis, memory, gold }: Case,
  change: (candidate: Candidate) => Candidate,
): TrainingExample[] => {
  return [...analysis.candidates.values()]
    .filter(({ isOpen }) => isOpen)
    .map((candidate) => {
      const values: number[] = []
      measure(change(candidate), { reading: analysis.reading, memory }, values)
      return { values, isTag: gold.has(candidate.key) }
    })
}

/** Simulates a language with half of its nouns in the lists. */
const withoutWords = (candidate: Candidate): Candidate => {
  const traits = candidate.traits.map((word): WordTraits => ({
    ...word,
    group: -1,
    isMostlyVerb: false,
    isMostlyAdjective: false,
    isFrequent: false,
    isListed: word.isListed && word.stem.length % 2 === 0,
  }))
  return { ...candidate, traits, failing: 0, denied: 0, aside: 0, located: 0 }
}

/**
 * Thresholds whose F1 is this near to the best are equally good. Their middle is the least fitted
 * to these texts.
 */
const NEARLY = 0.003

const bestThreshold = (
  cases: readonly Case[],
  weights: Weights,
  thresholdsOf: (threshold: number) => Thresholds,
): number => {
  const found: { threshold: number; f1: number }[] = []
  const scored = cases.map((tagCase) => score(tagCase, weights))
  for (let threshold = -3; threshold <= 1.5; threshold += 0.1) {
    const { f1 } = toFigures(count(scored, thresholdsOf(threshold)))
    found.push({ threshold, f1 })
  }
  const best = Math.max(...found.map(({ f1 }) => f1))
  const good = found.filter(({ f1 }) => f1 >= best - NEARLY).map(({ threshold }) => threshold)
  return ((good[0] ?? 0) + (good.at(-1) ?? 0)) / 2
}

const score = (tagCase: Case, weights: Weights) => ({
  tagCase,
  scores: scoreCandidates({ ...tagCase.analysis, memory: tagCase.memory }, weights),
})

export const evaluate = (cases: readonly Case[], { weights, thresholds }: Model): HitCounts => {
  return count(
    cases.map((tagCase) => score(tagCase, weights)),
    thresholds,
  )
}

/** Sums over texts: right tags, generated tags, tags of people, and texts. */
export type HitCounts = { right: number; generated: number; wanted: number; texts: number }

const count = (scored: readonly ReturnType<typeof score>[], thresholds: Thresholds): HitCounts => {
  const counts = { right: 0, generated: 0, wanted: 0, texts: scored.length }
  for (const { tagCase, scores } of scored) {
    const { reading } = tagCase.analysis
    const tags = choose(scores, reading, { memory: tagCase.memory, thresholds })
    const keys = new Set(tags.map((tag) => keyOfTag(tag, reading.lexicon)))
    counts.wanted += tagCase.gold.size
    counts.generated += keys.size
    for (const key of keys) if (tagCase.gold.has(key)) counts.right++
  }
  return counts
}

/**
 * Micro-averaged: all tags of all texts count equally. Generated tags on texts that people left
 * untagged cost precision.
 */
export const toFigures = ({ right, generated, wanted, texts }: HitCounts) => {
  return {
    f1: (2 * right) / (generated + wanted || 1),
    precision: right / (generated || 1),
    recall: right / (wanted || 1),
    perText: generated / texts,
  }
}

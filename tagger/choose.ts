import type { Candidate } from './candidate.ts'
import weights from './data/weights.json' with { type: 'json' }
import { labelOf } from './label.ts'
import { traitsOf } from './lexicon.ts'
import { type Memory, titleInUse } from './memory.ts'
import { isPresentable } from './presentable.ts'
import { keyOfTag } from './tag-key.ts'
import type { Scored, Scores } from './score.ts'
import type { Reading } from './reading.ts'

export const MAX_TAGS = 5

/**
 * The least scores of tags: `many` for every candidate, `one` for the best candidate when there
 * would be no tag otherwise. `manyPeople` and `onePeople` hold where people's tags have their full
 * weight.
 */
export type Thresholds = {
  readonly many: number
  readonly one: number
  readonly manyPeople: number
  readonly onePeople: number
}

/**
 * The tags of a text: the candidates that score well, none of them inside another; at least one
 * unless even the best is bad.
 */
export const choose = (
  { scored, trust }: Scores,
  reading: Reading,
  { memory, thresholds = weights.thresholds }: { memory: Memory | undefined; thresholds?: Thresholds },
): string[] => {
  const many = mix(trust.workspace, thresholds.manyPeople, thresholds.many)
  const one = mix(trust.text, thresholds.onePeople, thresholds.one)
  const chosen: { candidate: Candidate; tag: string }[] = []
  const add = (candidate: Candidate): void => {
    if (chosen.some((other) => isInside(candidate, other.candidate))) return
    const tag = titleOf(candidate, reading, memory)
    if (tag !== undefined && isPresentable(tag) && !chosen.some((other) => other.tag === tag))
      chosen.push({ candidate, tag })
  }
  for (const { candidate } of rank(scored, (of) => of.score, many)) if (chosen.length < MAX_TAGS) add(candidate)
  if (chosen.length > 0) return chosen.map(({ tag }) => tag)
  for (const { candidate } of rank(scored, (of) => of.alone, one)) if (chosen.length === 0) add(candidate)
  return chosen.map(({ tag }) => tag)
}

const mix = (share: number, one: number, other: number): number => share * one + (1 - share) * other

/**
 * The tag as the workspace writes it, else as a label. Languages share stems, so the tagger's own
 * titles count only for words that the language has no label for. None when the singular, which the
 * label has, is a word that says nothing.
 */
const titleOf = (candidate: Candidate, { lexicon }: Reading, memory: Memory | undefined): string | undefined => {
  const label = labelOf(candidate, lexicon)
  const isOfLanguage = (title: string): boolean =>
    !lexicon.nouns.has(label) && keyOfTag(title, lexicon) === candidate.key
  const title = titleInUse(memory, candidate.key, isOfLanguage)
  if (title !== undefined) return title
  const { isStop, isFiller, isListed } = traitsOf(lexicon, label)
  return isStop || (isFiller && !isListed) ? undefined : label
}

/** The candidates that score at least so much, the best first. */
const rank = (scored: readonly Scored[], scoreOf: (one: Scored) => number, least: number): Scored[] =>
  scored
    .filter((one) => scoreOf(one) >= least)
    .sort((one, other) => scoreOf(other) - scoreOf(one) || one.candidate.at - other.candidate.at || compare(one, other))

const compare = (one: Scored, other: Scored): number => (one.candidate.key < other.candidate.key ? -1 : 1)

/** Whether one of two candidates has all words of the other. */
const isInside = (one: Candidate, other: Candidate): boolean => {
  const [short, long] = one.stems.length <= other.stems.length ? [one, other] : [other, one]
  return short.stems.every((stem) => long.stems.includes(stem))
}

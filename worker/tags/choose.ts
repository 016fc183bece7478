import type { Candidate } from './candidates.ts'
import weights from './data/weights.json' with { type: 'json' }
import { labelOf } from './label.ts'
import { traitsOf } from './lexicon.ts'
import type { Memory } from './memory.ts'
import { titleInUse } from './memory.ts'
import { isPresentable } from './presentable.ts'
import type { Scored, Scores } from './score.ts'
import type { Reading } from './reading.ts'

export const MAX_TAGS = 5

/** From which score on a candidate becomes a tag, and from which the best one does when there would be none. */
export type Thresholds = {
  readonly many: number
  readonly one: number
  readonly manyPeople: number
  readonly onePeople: number
}

/** The tags of a text: those that score well, none of them inside another; at least one unless even the best is bad. */
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

const mix = (share: number, one: number, other: number): number => {
  return share * one + (1 - share) * other
}

/** As the workspace writes it, else as a label; the singular of a word may say nothing although the word does not. */
const titleOf = (candidate: Candidate, { lexicon }: Reading, memory: Memory | undefined): string | undefined => {
  const title = titleInUse(memory, candidate.key)
  if (title !== undefined) return title
  const label = labelOf(candidate, lexicon)
  const { isStop, isFiller, isListed } = traitsOf(lexicon, label)
  return isStop || (isFiller && !isListed) ? undefined : label
}

/** Those that score so much at least, the best first. */
const rank = (scored: readonly Scored[], scoreOf: (one: Scored) => number, least: number): Scored[] => {
  return scored
    .filter((one) => scoreOf(one) >= least)
    .sort((one, other) => scoreOf(other) - scoreOf(one) || one.candidate.at - other.candidate.at || compare(one, other))
}

const compare = (one: Scored, other: Scored): number => {
  return one.candidate.key < other.candidate.key ? -1 : 1
}

/** Whether one of them has all words of the other. */
const isInside = (one: Candidate, other: Candidate): boolean => {
  const [short, long] = one.stems.length <= other.stems.length ? [one, other] : [other, one]
  return short.stems.every((stem) => long.stems.includes(stem))
}

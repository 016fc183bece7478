import type { Candidate } from './candidate.ts'
import weights from './data/weights.json' with { type: 'json' }
import { labelOf } from './label.ts'
import { traitsOf } from './lexicon.ts'
import { type Memory, titleInUse } from './memory.ts'
import { keyOfTag } from './tag-key.ts'
import type { Scored, Scores } from './score.ts'
import type { Reading } from './reading.ts'
import { tokenize } from './tokens.ts'

const MAX_TAGS = 5

/**
 * The least scores of tags: `many` for every candidate, `one` for the best candidate of a text that
 * would have no tag otherwise. `manyPeople` and `onePeople` apply where people's tags have their
 * full weight.
 */
export type Thresholds = {
  readonly many: number
  readonly one: number
  readonly manyPeople: number
  readonly onePeople: number
}

/**
 * The tags of a text: the candidates with good scores, none of them inside another. If there is
 * none, the best candidate whose score suffices for the only tag.
 */
export const choose = (
  { scored, trust }: Scores,
  reading: Reading,
  { memory, thresholds = weights.thresholds }: { memory: Memory; thresholds?: Thresholds },
): string[] => {
  const many = mix(trust.workspace, thresholds.manyPeople, thresholds.many)
  const alone = mix(trust.alone, thresholds.onePeople, thresholds.one)
  const chosen: { candidate: Candidate; tag: string }[] = []
  const add = (candidate: Candidate): void => {
    if (chosen.some((other) => isInside(candidate, other.candidate))) return
    const tag = titleOf(candidate, reading, memory)
    if (tag !== undefined && isPresentable(tag) && !chosen.some((other) => other.tag === tag))
      chosen.push({ candidate, tag })
  }
  for (const { candidate } of rank(scored, ({ score }) => score, many)) if (chosen.length < MAX_TAGS) add(candidate)
  if (chosen.length > 0) return chosen.map(({ tag }) => tag)
  for (const { candidate } of rank(scored, (scores) => scores.alone, alone)) if (chosen.length === 0) add(candidate)
  return chosen.map(({ tag }) => tag)
}

const mix = (share: number, a: number, b: number): number => share * a + (1 - share) * b

/**
 * The workspace's spelling of the tag. Without one, the label, unless it is a function word or an
 * unlisted filler.
 */
const titleOf = (candidate: Candidate, { lexicon }: Reading, memory: Memory): string | undefined => {
  const label = labelOf(candidate, lexicon)
  // Languages share stems, so a generated title may be of another language. A known noun needs no
  // such title.
  const isOfLanguage = (title: string): boolean =>
    !lexicon.nouns.has(label) && keyOfTag(title, lexicon) === candidate.key
  const title = titleInUse(memory, candidate.key, isOfLanguage)
  if (title !== undefined) return title
  const { isStop, isFiller, isListed } = traitsOf(lexicon, label)
  return isStop || (isFiller && !isListed) ? undefined : label
}

/** The candidates with at least the score `least`, the best first. */
const rank = (scored: readonly Scored[], scoreOf: (scores: Scored) => number, least: number): Scored[] =>
  scored
    .filter((scores) => scoreOf(scores) >= least)
    .sort((a, b) => scoreOf(b) - scoreOf(a) || a.candidate.at - b.candidate.at || compare(a, b))

const compare = (a: Scored, b: Scored): number => (a.candidate.key < b.candidate.key ? -1 : 1)

/** Whether one of two candidates has all words of the other. */
const isInside = (a: Candidate, b: Candidate): boolean => {
  const [short, long] = a.stems.length <= b.stems.length ? [a, b] : [b, a]
  return short.stems.every((stem) => long.stems.includes(stem))
}

const MAX_TAG_CHARACTERS = 48

/**
 * The last check of a tag. Even a tag that people gave to another text must not look like an
 * address, a number or an identifier.
 */
const isPresentable = (tag: string): boolean => {
  if (tag.length === 0 || tag.length > MAX_TAG_CHARACTERS) return false
  if (/[@:\\/_<>&\n]/.test(tag)) return false
  return tokenize(tag).every(({ kind }) => kind === 'word' || kind === 'segment')
}

import type { WordTraits } from './lexicon.ts'
import { isNounLike, type Reading, type TextSpan, wordAt } from './reading.ts'
import { isFailure } from './events.ts'

/** The greatest distance in words between a phrase and a word of failure or negation. */
const FAILURE_REACH = 3
/** The greatest distance in words between a word such as `when` and a phrase in its clause. */
const ASIDE_REACH = 8

/**
 * Whether a phrase begins its clause, with or without a determiner. A token without traits ends a
 * clause.
 */
export const isLeading = ({ traits }: Reading, start: number): boolean => {
  const before = traits[start - 1]
  return before === undefined || (before.isDeterminer && traits[start - 2] === undefined)
}

/** Whether a word of failure or negation follows: the export fails. */
export const isFailing = ({ traits }: Reading, end: number): boolean => {
  for (let at = end; at < end + FAILURE_REACH; at++) {
    const after = traits[at]
    if (after === undefined) return false
    if (after.isTrouble) return true
    if (!after.isStop && !after.isFiller && !after.isNotNoun) return false
  }
  return false
}

/** Whether a word of failure or negation precedes: cannot export. */
export const isDenied = (reading: Reading, start: number): boolean =>
  isBefore(reading, { start, reach: FAILURE_REACH }, ({ isTrouble }) => isTrouble)

/** Whether a word that introduces circumstances precedes: when. */
export const isAside = (reading: Reading, start: number): boolean =>
  isBefore(reading, { start, reach: ASIDE_REACH }, ({ isAside: is }) => is)

const isBefore = (
  { traits }: Reading,
  { start, reach }: { start: number; reach: number },
  is: (word: WordTraits) => boolean,
): boolean => {
  for (let at = start - 1; at >= start - reach; at--) {
    const before = traits[at]
    if (before === undefined) return false
    if (is(before)) return true
  }
  return false
}

/** Whether a preposition of place precedes: `in the app`. */
export const isLocated = ({ traits }: Reading, start: number): boolean => {
  const before = traits[start - 1]
  return before?.isPlace === true || (before?.isDeterminer === true && traits[start - 2]?.isPlace === true)
}

/** Whether a span is part of a longer phrase, as `life` is in `battery life`. */
export const isInsideLonger = (reading: Reading, { start, end }: TextSpan): boolean => {
  const { traits } = reading
  const before = traits[start - 1]
  const after = traits[end]
  return (
    (before !== undefined && (isNounLike(before) || before.isModifier)) ||
    (after !== undefined && isNounLike(after) && !isFailure(reading, end)) ||
    isInsideOf(reading, { start, end })
  )
}

/** Whether a span is one of two nouns around `of`: the quality of the pictures. */
const isInsideOf = (reading: Reading, { start, end }: TextSpan): boolean => {
  const { traits } = reading
  const isNoun = (at: number): boolean => {
    const noun = traits[at]
    return noun !== undefined && isNounLike(noun)
  }
  if (wordAt(reading, end) === 'of') return isNoun(traits[end + 1]?.isDeterminer === true ? end + 2 : end + 1)
  const joiner = traits[start - 1]?.isDeterminer === true ? start - 2 : start - 1
  return wordAt(reading, joiner) === 'of' && isNoun(joiner - 1)
}

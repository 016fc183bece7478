import { isFailure } from './events.ts'
import { isNounLike, type Reading, type Span, wordAt } from './reading.ts'

/**
 * Whether a span is part of a longer phrase, as `life` is in `battery life`: a noun or modifier is
 * next to it.
 */
export const isInsideLonger = (reading: Reading, { start, end }: Span): boolean => {
  const { traits } = reading
  const before = traits[start - 1]
  const after = traits[end]
  return (
    (before !== undefined && (isNounLike(before) || before.isModifier)) ||
    (after !== undefined && isNounLike(after) && !isFailure(reading, end)) ||
    isInsideOf(reading, { start, end })
  )
}

/** Whether a span is either noun of `the quality of the pictures`. */
const isInsideOf = (reading: Reading, { start, end }: Span): boolean => {
  const { traits } = reading
  const isNoun = (at: number): boolean => {
    const noun = traits[at]
    return noun !== undefined && isNounLike(noun)
  }
  if (wordAt(reading, end) === 'of') return isNoun(traits[end + 1]?.isDeterminer === true ? end + 2 : end + 1)
  const joiner = traits[start - 1]?.isDeterminer === true ? start - 2 : start - 1
  return wordAt(reading, joiner) === 'of' && isNoun(joiner - 1)
}

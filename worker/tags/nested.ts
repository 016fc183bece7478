import { isFailure } from './events.ts'
import { isNounLike, wordAt } from './reading.ts'
import type { Reading, Span } from './reading.ts'

/** Between two content words a phrase goes on: `life` in `battery life`. */
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

/** Either noun of `the quality of the pictures`. */
const isInsideOf = (reading: Reading, { start, end }: Span): boolean => {
  const { traits } = reading
  const isNoun = (at: number): boolean => {
    const noun = traits[at]
    return noun !== undefined && isNounLike(noun)
  }
  if (wordAt(reading, end) === 'of') return isNoun(traits[end + 1]?.isDeterminer === true ? end + 2 : end + 1)
  const of = traits[start - 1]?.isDeterminer === true ? start - 2 : start - 1
  return wordAt(reading, of) === 'of' && isNoun(of - 1)
}

import type { FeedbackFilters } from '../../db/reads/filters.ts'

const NOTHING_FOUND =
  'Nothing matches all filters. Tags and sources must be written exactly: resolve finds them by a part of their name. ' +
  'Try fewer words, single words, or other words.'
const DIFFERENT_SCALES =
  'Ratings of different sources can have different scales. Name one source, or use satisfactionMin and satisfactionMax.'

const unknownWordsHint = (words: readonly string[]): string =>
  `No text has ${words.map((word) => `“${word}”`).join(' or ')} in any form. Try other words.`

/** `found`: how many records. `unknownWords`: the searched words that no text has. */
type HintedAnswer = {
  found: number
  by?: readonly string[] | undefined
  unknownWords?: readonly string[] | undefined
}

/** What an agent should know about an answer, so that it does not mislead; undefined if nothing. */
export const hintsOf = (
  filters: FeedbackFilters,
  { found, by = [], unknownWords = [] }: HintedAnswer,
): string[] | undefined => {
  const asksRating = filters.ratingMin !== undefined || filters.ratingMax !== undefined || by.includes('rating')
  const isOfOneSource = filters.source !== undefined || by.includes('source')
  const hints = [
    ...(unknownWords.length > 0 ? [unknownWordsHint(unknownWords)] : []),
    ...(found === 0 && unknownWords.length === 0 && Object.keys(filters).length > 0 ? [NOTHING_FOUND] : []),
    ...(asksRating && !isOfOneSource ? [DIFFERENT_SCALES] : []),
  ]
  return hints.length === 0 ? undefined : hints
}

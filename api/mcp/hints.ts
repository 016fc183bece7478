import type { FeedbackFilters } from '../../db/reads/lists.ts'

const NOTHING_FOUND =
  'Nothing matches all filters. Tags and sources must be written exactly: resolve finds them by a part of their name. ' +
  'Try fewer words, single words, or other words.'
const DIFFERENT_SCALES =
  'Ratings of different sources can have different scales. Name one source, or use satisfactionMin and satisfactionMax.'

/** What an agent should know about an answer, so that it does not mislead; undefined if nothing. */
export const hintsOf = (
  filters: FeedbackFilters,
  { found, by = [] }: { found: number; by?: readonly string[] | undefined },
): string[] | undefined => {
  const asksRating = filters.ratingMin !== undefined || filters.ratingMax !== undefined || by.includes('rating')
  const isOfOneSource = filters.source !== undefined || by.includes('source')
  const hints = [
    ...(found === 0 && Object.keys(filters).length > 0 ? [NOTHING_FOUND] : []),
    ...(asksRating && !isOfOneSource ? [DIFFERENT_SCALES] : []),
  ]
  return hints.length === 0 ? undefined : hints
}

import { traitsOf } from './lexicon.ts'
import type { Lexicon, WordTraits } from './lexicon.ts'
import type { Token } from './tokens.ts'

/** A text's tokens beside what is known about them. */
export type Reading = {
  readonly tokens: readonly Token[]
  readonly traits: readonly (WordTraits | undefined)[]
  readonly lexicon: Lexicon
  /** Whether a word of praise or blame is near, in the same clause. */
  readonly isNearOpinion: readonly boolean[]
}

/** Places among the tokens, the end not included. */
export type Span = { readonly start: number; readonly end: number }

/** How many words may stand between praise or blame and what it is about. */
const OPINION_REACH = 5
const HEAD_FIRST = new Set(['es', 'fr', 'pt', 'it', 'ar'])

export const read = (tokens: readonly Token[], lexicon: Lexicon): Reading => {
  const traits = tokens.map((token) =>
    token.kind === 'word' || token.kind === 'segment' ? traitsOf(lexicon, token.text) : undefined,
  )
  return { tokens, lexicon, traits, isNearOpinion: findNearOpinion(traits) }
}

const findNearOpinion = (traits: readonly (WordTraits | undefined)[]): boolean[] => {
  const isNear = traits.map(() => false)
  const mark = (at: number, distance: number): number => {
    const known = traits[at]
    if (known === undefined) return OPINION_REACH
    if (known.isOpinion) return 0
    if (distance < OPINION_REACH) isNear[at] = true
    return distance + 1
  }
  for (let at = 0, distance = OPINION_REACH; at < traits.length; at++) distance = mark(at, distance)
  for (let at = traits.length - 1, distance = OPINION_REACH; at >= 0; at--) distance = mark(at, distance)
  return isNear
}

export const isHeadFirst = (lexicon: Lexicon): boolean => {
  return HEAD_FIRST.has(lexicon.language)
}

export const wordAt = ({ tokens }: Reading, at: number): string => {
  const token = tokens[at]
  return token?.kind === 'word' || token?.kind === 'segment' ? token.text : ''
}

/** Whether a phrase may begin or end with a word. */
export const isEdge = (traits: WordTraits | undefined): boolean => {
  return traits !== undefined && !traits.isStop && !traits.isSenseless
}

export const isNounLike = (traits: WordTraits): boolean => {
  return !traits.isFiller && !traits.isStop && (traits.isListed || traits.group >= 0)
}

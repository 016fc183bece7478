import { type Lexicon, traitsOf, type WordTraits } from './lexicon.ts'
import type { Token } from './tokens.ts'

/** The tokens of a text, and the traits of each word among them. */
export type Reading = {
  readonly tokens: readonly Token[]
  readonly traits: readonly (WordTraits | undefined)[]
  readonly lexicon: Lexicon
  /** For each token: whether a word of praise or blame is near it, in the same clause. */
  readonly isNearOpinion: readonly boolean[]
}

/** Indices among the tokens, the end not included. */
export type TextSpan = { readonly start: number; readonly end: number }

/** The greatest distance in words between praise or blame and its object. */
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

/** Whether the noun of a phrase stands before its modifiers. */
export const isHeadFirst = (lexicon: Lexicon): boolean => HEAD_FIRST.has(lexicon.language)

export const wordAt = ({ tokens }: Reading, at: number): string => {
  const token = tokens[at]
  return token?.kind === 'word' || token?.kind === 'segment' ? token.text : ''
}

/** Whether a word may begin or end a phrase. */
export const canBeEdge = (traits: WordTraits | undefined): boolean =>
  traits !== undefined && !traits.isStop && !traits.isSenseless

export const isNounLike = (traits: WordTraits): boolean =>
  !traits.isFiller && !traits.isStop && (traits.isListed || traits.group >= 0)

import { piecesOf, type TextPiece } from './text-pieces.ts'

/** The most words of a search. */
export const MOST_SEARCHED_WORDS = 20

const QUOTES = /["\u201c-\u201f\u00ab\u00bb\uff02]/gu
/** A phrase in quotes, or the text up to white space. */
const GIVEN_TERM = /"([^"]*)"|(\S+)/gu

/** The pieces of one word, or of words in a row. */
export type GivenTerm = readonly TextPiece[]
/** What a client searches: a text must have at least one term of each part. */
export type GivenSearch = readonly (readonly GivenTerm[])[]

/**
 * Reads a search: words that all must occur, `"two words"` in a row, and `or` between two of these.
 * Undefined if it has no word, or too many.
 */
export const parseSearch = (text: string): GivenSearch | undefined => {
  const parts: GivenTerm[][] = []
  const given = [...text.replaceAll(QUOTES, '"').matchAll(GIVEN_TERM)]
  let isEither = false
  for (const [at, [, phrase, word = '']] of given.entries()) {
    const canJoin = parts.length > 0 && !isEither && at < given.length - 1
    if (phrase === undefined && word.toLowerCase() === 'or' && canJoin) {
      isEither = true
      continue
    }
    const term = piecesOf(phrase ?? word)
    // Signs alone are no term.
    if (term.length === 0) continue
    if (isEither) parts.at(-1)!.push(term)
    else parts.push([term])
    isEither = false
  }
  const words = parts.flat().reduce((sum, term) => sum + runsOf(term).length, 0)
  return words === 0 || words > MOST_SEARCHED_WORDS ? undefined : parts
}

/** Splits pieces into words: joined characters are one word. */
export const runsOf = (pieces: readonly TextPiece[]): TextPiece[][] => {
  const runs: TextPiece[][] = []
  for (const piece of pieces) {
    if (piece.isJoined) runs.at(-1)!.push(piece)
    else runs.push([piece])
  }
  return runs
}

/**
 * A word that is searched, as it was given. The text must have one of the hashes of each of `keys`.
 */
export type SearchedWord = { readonly text: string; readonly keys: readonly (readonly number[])[] }

/**
 * One word, or words in a row. `isPhrase`: the hashes alone do not tell whether a text has it, since
 * they say nothing about the order of words.
 */
export type SearchedTerm = { readonly words: readonly SearchedWord[]; readonly isPhrase: boolean }

/** A search with the hashes of its words. A text matches if it has at least one term of each part. */
export type Search = {
  readonly parts: readonly (readonly SearchedTerm[])[]
  readonly matches: (text: string) => boolean
}

export const hasPhrase = ({ parts }: Search): boolean => parts.some((terms) => terms.some(({ isPhrase }) => isPhrase))

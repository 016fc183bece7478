import type { FilterValues } from '../contract/feedback-filters.ts'
import {
  type GivenSearch,
  type GivenTerm,
  MOST_SEARCHED_WORDS,
  runsOf,
  type Search,
  type SearchedTerm,
  type SearchedWord,
} from '../contract/search.ts'
import { piecesOf, type TextPiece } from '../contract/text-pieces.ts'
import { hashTerm } from './memory.ts'
import { keysOf, readPieces, type TextWord } from './text-words.ts'

/** So many pairs of characters of a word without spaces are looked up. The text itself has the rest. */
const MOST_PAIRS = 3

/** A place of a row of words: the keys that fit there. */
type WordPlace = { readonly keys: ReadonlySet<string>; readonly isJoined: boolean }
/** A term with its row of words. */
type Term = SearchedTerm & { readonly places: readonly WordPlace[] }

/** Finds the hashes of the words of a search, in all forms that a text may have. */
export const searchOf = (given: GivenSearch): Search => {
  const parts = given.map((terms) => terms.map(termOf))
  return {
    parts: parts.map((terms) => terms.map(({ words, isPhrase }) => ({ words, isPhrase }))),
    matches: matchAll(parts),
  }
}

/** Filters with the hashes of their words. */
export const withHashes = ({ q, ...filters }: FilterValues) => ({ ...filters, ...(q && { q: searchOf(q) }) })

/** The search for the first words of a text in any order. Undefined if the text has no word. */
export const searchOfWords = (text: string): Search | undefined => {
  const runs = runsOf(piecesOf(text)).slice(0, MOST_SEARCHED_WORDS)
  return runs.length === 0 ? undefined : searchOf(runs.map((run) => [run]))
}

const termOf = (pieces: GivenTerm): Term => {
  const isPair = pieces.length === 2 && pieces[1]!.isJoined
  return {
    words: runsOf(pieces).map(wordOf),
    isPhrase: pieces.length > 1 && !isPair,
    places: pieces.map((piece) => ({ keys: new Set(keysOf(piece)), isJoined: piece.isJoined })),
  }
}

/** A word of joined characters is found by pairs of them. */
const wordOf = (run: readonly TextPiece[]): SearchedWord => {
  const pairs = run.slice(1, 1 + MOST_PAIRS).map(({ text }, at) => [run[at]!.text + text])
  const keys = pairs.length > 0 ? pairs : [keysOf(run[0]!)]
  return { text: run.map(({ text }) => text).join(''), keys: keys.map((each) => each.map(hashTerm)) }
}

/** Most texts have no words that fit in any language. They need no search for their own language. */
const matchAll =
  (parts: readonly (readonly Term[])[]) =>
  (text: string): boolean => {
    const { pieces, words } = readPieces(text)
    return hasRows(pieces, parts, mayFit) && hasRows(words(), parts, fits)
  }

/** Whether the pieces or words have a row of each part. */
const hasRows = <Word>(
  words: readonly Word[],
  parts: readonly (readonly Term[])[],
  isFit: (word: Word, place: WordPlace) => boolean,
): boolean =>
  parts.every((terms) =>
    terms.some(({ places }) =>
      words.some(
        (_, start) =>
          start + places.length <= words.length && places.every((place, at) => isFit(words[start + at]!, place)),
      ),
    ),
  )

const mayFit = (piece: TextPiece, { keys, isJoined }: WordPlace): boolean =>
  (!isJoined || piece.isJoined) && keysOf(piece).some((key) => keys.has(key))

const fits = (word: TextWord, { keys, isJoined }: WordPlace): boolean =>
  (!isJoined || word.isJoined) && word.keys.some((key) => keys.has(key))

import type { Search, SearchedTerm, SearchedWord } from '../contract/search.ts'
import { hashTerm } from './memory.ts'
import { keysOfWord, type WordPiece, piecesOf, readWords, type TextWord } from './text-words.ts'

/** The most words of a search. */
export const MOST_SEARCHED_WORDS = 20
/** So many pairs of characters of a word without spaces are looked up. The text itself has the rest. */
const MOST_PAIRS = 3

const QUOTES = /["\u201c-\u201f\u00ab\u00bb\uff02]/gu
/** A phrase in quotes, or the text up to white space. */
const GIVEN_TERM = /"([^"]*)"|(\S+)/gu

/** A place of a row of words: the keys that fit there. */
type Place = { readonly keys: ReadonlySet<string>; readonly isJoined: boolean }
/** A term with its row of words. */
type Term = SearchedTerm & { readonly places: readonly Place[] }

/**
 * Reads a search: words that all must occur, `"two words"` in a row, and `or` between two of these.
 * Undefined if it has no word, or too many.
 */
export const parseSearch = (text: string): Search | undefined => {
  const parts: Term[][] = []
  const given = [...text.replaceAll(QUOTES, '"').matchAll(GIVEN_TERM)]
  let isEither = false
  for (const [at, [, phrase, word = '']] of given.entries()) {
    const canJoin = parts.length > 0 && !isEither && at < given.length - 1
    if (phrase === undefined && word.toLowerCase() === 'or' && canJoin) {
      isEither = true
      continue
    }
    const term = readTerm(phrase ?? word)
    if (term === undefined) continue
    if (isEither) parts.at(-1)!.push(term)
    else parts.push([term])
    isEither = false
  }
  const words = parts.flat().reduce((sum, term) => sum + term.words.length, 0)
  if (words === 0 || words > MOST_SEARCHED_WORDS) return undefined
  return searchOf(parts)
}

/** The search for the first words of a text in any order. Undefined if the text has no word. */
export const searchOfWords = (text: string): Search | undefined => {
  const runs = runsOf(piecesOf(text)).slice(0, MOST_SEARCHED_WORDS)
  return runs.length === 0 ? undefined : searchOf(runs.map((run) => [termOf(run)]))
}

const searchOf = (parts: readonly (readonly Term[])[]): Search => ({
  parts: parts.map((terms) => terms.map(({ words, isPhrase }) => ({ words, isPhrase }))),
  matches: matchAll(parts),
})

/** Undefined without a letter or digit. */
const readTerm = (text: string): Term | undefined => {
  const pieces = piecesOf(text)
  return pieces.length === 0 ? undefined : termOf(pieces)
}

const termOf = (pieces: readonly WordPiece[]): Term => {
  const isPair = pieces.length === 2 && pieces[1]!.isJoined
  return {
    words: runsOf(pieces).map(wordOf),
    isPhrase: pieces.length > 1 && !isPair,
    places: pieces.map((piece) => ({ keys: new Set(keysOf(piece)), isJoined: piece.isJoined })),
  }
}

const keysOf = ({ text, isCharacter }: WordPiece): string[] => (isCharacter ? [text] : keysOfWord(text))

/** Splits pieces into words: joined characters are one word. */
const runsOf = (pieces: readonly WordPiece[]): WordPiece[][] => {
  const runs: WordPiece[][] = []
  for (const piece of pieces) {
    if (piece.isJoined) runs.at(-1)!.push(piece)
    else runs.push([piece])
  }
  return runs
}

/** A word of joined characters is found by pairs of them. */
const wordOf = (run: readonly WordPiece[]): SearchedWord => {
  const pairs = run.slice(1, 1 + MOST_PAIRS).map(({ text }, at) => [run[at]!.text + text])
  const keys = pairs.length > 0 ? pairs : [keysOf(run[0]!)]
  return { text: run.map(({ text }) => text).join(''), keys: keys.map((each) => each.map(hashTerm)) }
}

const matchAll =
  (parts: readonly (readonly Term[])[]) =>
  (text: string): boolean => {
    const words = readWords(text)
    return parts.every((terms) => terms.some(({ places }) => hasRow(words, places)))
  }

const hasRow = (words: readonly TextWord[], places: readonly Place[]): boolean =>
  words.some((_, start) => places.every((place, at) => fits(words[start + at], place)))

const fits = (word: TextWord | undefined, { keys, isJoined }: Place): boolean =>
  word !== undefined && keys.has(word.key) && (!isJoined || word.isJoined)

import { piecesOf, type TextPiece, withoutAccents } from '../contract/text-pieces.ts'
import { findLexicon } from './language.ts'
import { LATIN } from './lexicon.ts'
import { hashTerm } from './memory.ts'
import { stem } from './stems.ts'
import { tokenize } from './tokens.ts'
import { cutHtml, htmlAsText } from '../runtime/reduce-html.ts'

/** A piece of a text. `keys`: the character, or the stem of a word with and without its accents. */
export type TextWord = { readonly keys: readonly string[]; readonly isJoined: boolean }

/** The language shows in so many first characters. */
const LANGUAGE_CHARACTERS = 1_000
/** Longer words are no words of a language, and have no stem. */
const MAX_STEMMED_CHARACTERS = 64
const MAX_CACHED_WORDS = 20_000

/** The pieces of a text, which is plain text or HTML, in their order. `words`: the pieces as words. */
export const readPieces = (given: string): { pieces: TextPiece[]; words: () => TextWord[] } => {
  const text = visibleText(given)
  const pieces = piecesOf(text)
  return { pieces, words: () => wordsOf(pieces, latinLanguage(text)) }
}

const wordsOf = (pieces: readonly TextPiece[], latin: string): TextWord[] =>
  pieces.map(({ text, isCharacter, isJoined }) => ({
    keys: isCharacter ? [text] : stemsOf(text, languageOf(text) ?? latin),
    isJoined,
  }))

/** The hashes by which the index finds a text: of its words, and of pairs of joined characters. */
export const hashesOfText = (text: string): number[] => {
  const words = readPieces(text).words()
  const keys = new Set<string>()
  for (const [at, word] of words.entries()) {
    for (const key of word.keys) keys.add(key)
    if (word.isJoined) keys.add(words[at - 1]!.keys[0]! + word.keys[0]!)
  }
  return [...keys].map(hashTerm)
}

const cachedKeys = new Map<string, readonly string[]>()

/** The keys that a piece can have, in any language of a text. */
export const keysOf = ({ text, isCharacter }: TextPiece): readonly string[] => {
  if (isCharacter) return [text]
  const known = cachedKeys.get(text)
  if (known !== undefined) return known
  if (cachedKeys.size >= MAX_CACHED_WORDS) cachedKeys.clear()
  const language = languageOf(text)
  const languages = language === undefined ? LATIN_LANGUAGES : [language]
  const found = [...new Set([...languages].flatMap((each) => stemsOf(text, each)))]
  if (text.length <= MAX_STEMMED_CHARACTERS) cachedKeys.set(text, found)
  return found
}

/** What a person sees of a text. Only the first part of a long text can be HTML. */
const visibleText = (text: string): string => {
  const head = cutHtml(text)
  return head.length === text.length ? htmlAsText(text) : `${htmlAsText(head)}${text.slice(head.length)}`
}

const LATIN_LANGUAGES: ReadonlySet<string> = new Set(LATIN.map(({ language }) => language))

/** The language for words in Latin script: English if the text is in a language without stems. */
const latinLanguage = (text: string): string => {
  const { language } = findLexicon(tokenize(text.slice(0, LANGUAGE_CHARACTERS)))
  return LATIN_LANGUAGES.has(language) ? language : 'en'
}

/** The language of the stems of a word; undefined in Latin script, which many languages have. */
const languageOf = (word: string): string | undefined => {
  const code = word.codePointAt(0)!
  if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) return undefined
  if (code >= 0x400 && code < 0x530) return 'ru'
  if (code >= 0x600 && code < 0x700) return 'ar'
  return 'none'
}

const cachedStems = new Map<string, readonly string[]>()

/**
 * The stem of a word, without accents. A word with accents has another stem, as if it had none: so
 * `organización` finds `organizaciones` by its ending, and `organizacion` finds `organización`.
 */
const stemsOf = (word: string, language: string): readonly string[] => {
  if (word.length > MAX_STEMMED_CHARACTERS) return [withoutAccents(word)]
  const name = `${language} ${word}`
  const known = cachedStems.get(name)
  if (known !== undefined) return known
  if (cachedStems.size >= MAX_CACHED_WORDS) cachedStems.clear()
  const found = [...new Set([withoutAccents(stem(word, language)), stem(withoutAccents(word), language)])]
  cachedStems.set(name, found)
  return found
}

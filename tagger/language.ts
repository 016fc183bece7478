import { detectLanguage } from './detect-language.ts'
import {
  ARABIC,
  ENGLISH,
  isFunctionWord,
  isKnownWord,
  LATIN,
  type Lexicon,
  RUSSIAN,
  SEGMENTED,
  traitsOf,
  UNKNOWN,
} from './lexicon.ts'
import type { Token } from './tokens.ts'

/** In a clear language, at least this share of the words are function words. */
const CLEAR_SHARE = 0.25
/** A clear language leads any other by this many function words and this share of the words. */
const CLEAR_LEAD = 2
const CLEAR_LEAD_SHARE = 0.1
/** The least share of English words in an English text without clear function words: CSV export. */
const MIN_ENGLISH_SHARE = 0.75
/** A text in no known language is taken for English if it has at most this many words, all ASCII. */
const MAX_HEADING_WORDS = 8
/** A larger share of words with letters of another alphabet means another language. */
const MAX_FOREIGN_WORD_SHARE = 0.1
/** The language shows in this many first words. */
const MAX_READ_WORDS = 60

const BY_LANGUAGE = new Map(
  [...LATIN, RUSSIAN, ARABIC].map((lexicon): [string, Lexicon] => [lexicon.language, lexicon]),
)
const NOT_RUSSIAN = /[іїєґўђјљњћќѓѕџ]/
const NOT_ARABIC = /[پچژگکی]/
const BEYOND_ASCII = /[^\0-\x7f]/

/**
 * The lexicon for a text. The script decides, then the language that the caller names, then clear
 * function words, then the share of English words, and then groups of letters.
 */
export const findLexicon = (tokens: readonly Token[], language?: string): Lexicon => {
  const words: string[] = []
  let segments = 0
  for (const token of tokens) {
    if (token.kind === 'segment') segments++
    else if (token.kind === 'word' && words.length < MAX_READ_WORDS) words.push(token.text)
  }
  if (segments > words.length) return SEGMENTED
  const script = scriptOf(words)
  if (script === 'cyrillic') return isForeign(words, NOT_RUSSIAN) ? UNKNOWN : RUSSIAN
  if (script === 'arabic') return isForeign(words, NOT_ARABIC) ? UNKNOWN : ARABIC
  if (script === 'other') return UNKNOWN
  const named = language === undefined ? undefined : BY_LANGUAGE.get(language.slice(0, 2).toLowerCase())
  return named ?? findLatin(words)
}

const scriptOf = (words: readonly string[]): 'latin' | 'cyrillic' | 'arabic' | 'other' => {
  const counts = { latin: 0, cyrillic: 0, arabic: 0, other: 0 }
  for (const word of words) {
    const code = word.codePointAt(0) ?? 0
    if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) counts.latin++
    else if (code >= 0x400 && code < 0x530) counts.cyrillic++
    else if (code >= 0x600 && code < 0x700) counts.arabic++
    else counts.other++
  }
  if (counts.latin * 2 >= words.length) return 'latin'
  if (counts.cyrillic * 2 > words.length) return 'cyrillic'
  return counts.arabic * 2 > words.length ? 'arabic' : 'other'
}

const isForeign = (words: readonly string[], foreign: RegExp): boolean =>
  words.filter((word) => foreign.test(word)).length > words.length * MAX_FOREIGN_WORD_SHARE

const findLatin = (words: readonly string[]): Lexicon => {
  const { best, hits, rival } = countFunctionWords(words)
  const isClear =
    hits >= words.length * CLEAR_SHARE && hits - rival >= Math.max(CLEAR_LEAD, words.length * CLEAR_LEAD_SHARE)
  if (isClear && (best === ENGLISH || !words.every((word) => isEnglishWord(word)))) return best
  const english = words.filter((word) => isEnglishWord(word)).length
  if (english >= words.length * MIN_ENGLISH_SHARE) return ENGLISH
  const detected = BY_LANGUAGE.get(detectLanguage(words.join(' ')))
  if (detected !== undefined) return detected
  return words.length > MAX_HEADING_WORDS || words.some((word) => BEYOND_ASCII.test(word)) ? UNKNOWN : ENGLISH
}

/**
 * A determiner counts twice: `o`, `a` and `e` alone would leave Portuguese, Spanish and Italian
 * equal.
 */
const countFunctionWords = (words: readonly string[]): { best: Lexicon; hits: number; rival: number } => {
  let best = ENGLISH
  let hits = -1
  let rival = 0
  for (const lexicon of LATIN) {
    let count = 0
    for (const word of words) {
      if (lexicon.determiners.has(word)) count += 2
      else if (isFunctionWord(lexicon, word)) count++
    }
    if (count > hits) {
      rival = hits
      hits = count
      best = lexicon
    } else if (count > rival) rival = count
  }
  return { best, hits, rival }
}

const isEnglishWord = (word: string): boolean => {
  if (isKnownWord(ENGLISH, word)) return true
  const { group, isNotNoun } = traitsOf(ENGLISH, word)
  return group >= 0 || isNotNoun
}

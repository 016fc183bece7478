import type { Candidate } from './candidate.ts'
import type { Lexicon } from './lexicon.ts'
import { singular } from './word-endings.ts'
import { isHeadFirst } from './reading.ts'

/**
 * Endings of plurals with the endings of their singulars; the first match counts. `$&` leaves a word
 * unchanged.
 */
const PLURALS: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  es: [
    [/(?:is|us)$/, '$&'],
    [/iones$/, 'ión'],
    [/ces$/, 'z'],
    [/([lrndj])es$/, '$1'],
    [/([aeiouáéíóú])s$/, '$1'],
  ],
  fr: [
    [/(?:is|us|ès|as|ss|mps|rps|urs)$/, '$&'],
    [/eaux$/, 'eau'],
    [/aux$/, 'al'],
    [/s$/, ''],
  ],
  pt: [
    [/(?:us|ás|ês)$/, '$&'],
    [/(?:ões|ães)$/, 'ão'],
    [/ns$/, 'm'],
    [/ais$/, 'al'],
    [/éis$/, 'el'],
    [/([rz])es$/, '$1'],
    [/([aeou])s$/, '$1'],
  ],
  it: [
    [/ioni$/, 'ione'],
    [/ieri$/, 'iere'],
    [/([aeiou])ri$/, '$1re'],
    [/([^aeiou])i$/, '$1o'],
  ],
  nl: [[/([aeiou])'s$/, '$1']],
}
/** The rules leave shorter words unchanged. */
const MIN_PLURAL_CHARACTERS = 4

/**
 * The label of a candidate: its words in lower case, the noun in the singular if a list or rule has
 * it.
 */
export const labelOf = (candidate: Candidate, lexicon: Lexicon): string => {
  const { words, traits, joined, isInverted } = candidate
  if (lexicon.language === 'segmented') return words.join('')
  if (lexicon.language === 'en') {
    // Each word of a rearranged phrase may be a plural: quality of the pictures.
    if (joined > 0 || isInverted) return words.map(singular).join(' ')
    return [...words.slice(0, -1), singular(words.at(-1) ?? '')].join(' ')
  }
  if (candidate.isCompound || (words.length > 1 && !isHeadFirst(lexicon))) return words.join(' ')
  const [head = '', ...rest] = words
  return [toSingular(lexicon, head, traits[0]?.stem ?? ''), ...rest].join(' ')
}

const toSingular = (lexicon: Lexicon, word: string, stem: string): string => {
  const listed = lexicon.forms().get(stem)
  if (listed !== undefined && listed !== word) return listed
  // Drops the Arabic article if at least three letters follow.
  const bare = lexicon.language === 'ar' ? word.replace(/^ال(?=.{3})/, '') : word
  return singularIn(lexicon, bare)
}

const singularIn = ({ language, nouns }: Lexicon, word: string): string => {
  if (word.length < MIN_PLURAL_CHARACTERS) return word
  const rule = PLURALS[language]?.find(([ending]) => ending.test(word))
  const shortened = rule ? word.replace(rule[0], rule[1]) : word
  return nouns.has(shortened) || !nouns.has(word) ? shortened : word
}

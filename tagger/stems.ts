import { stemmer as arabic } from '@orama/stemmers/arabic'
import { stemmer as dutch } from '@orama/stemmers/dutch'
import { stemmer as english } from '@orama/stemmers/english'
import { stemmer as french } from '@orama/stemmers/french'
import { stemmer as german } from '@orama/stemmers/german'
import { stemmer as italian } from '@orama/stemmers/italian'
import { stemmer as portuguese } from '@orama/stemmers/portuguese'
import { stemmer as russian } from '@orama/stemmers/russian'
import { stemmer as spanish } from '@orama/stemmers/spanish'
import { stemmer as turkish } from '@orama/stemmers/turkish'

/**
 * @orama/stemmers has no Polish stemmer. Without the endings of nouns and adjectives, most forms of
 * a word are equal.
 */
const polish = (word: string): string => {
  if (word.length < 5) return word
  const ending = /(?:owych|owymi|owego|owemu|ami|ach|ych|ymi|ego|emu|iem|owi|ów|om|em|ie|ej|ią|ę|ą|y|i|a|e|o|u)$/.exec(
    word,
  )
  return ending && word.length - ending[0].length >= 3 ? word.slice(0, ending.index) : word
}

const STEMMERS: Readonly<Record<string, (word: string) => string>> = {
  ar: arabic,
  de: german,
  en: english,
  es: spanish,
  fr: french,
  it: italian,
  nl: dutch,
  pl: polish,
  pt: portuguese,
  ru: russian,
  tr: turkish,
}

/**
 * Stems for words that the stemmer confuses: in Italian waiter (cameriere) and room (camera), in
 * Spanish camera (cámara) and bed (cama).
 */
const STEMS_OF_WORDS: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  es: new Map([
    ['cámara', 'cámar'],
    ['cámaras', 'cámar'],
  ]),
  it: new Map([
    ['camere', 'camer'],
    ['cameriere', 'camerier'],
  ]),
}

/**
 * The common stem of the forms of a word: exports and exported, facture and factures. A hyphen
 * becomes a space, so `dark-mode` and `dark mode` have one key. `traitsOf` caches the stem.
 */
export const stem = (word: string, language: string): string =>
  (STEMS_OF_WORDS[language]?.get(word) ?? STEMMERS[language]?.(word) ?? word).replaceAll('-', ' ')

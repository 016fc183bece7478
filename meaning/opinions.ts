import { atFirstUse } from '../runtime/at-first-use.ts'
import type { Analysis } from '../tagger/generate-tags.ts'
import { type Lexicon, traitsOf } from '../tagger/lexicon.ts'
import { stem } from '../tagger/stems.ts'
import { findPhrases, type PhraseList, toPhraseList, toPhrases } from './phrases.ts'
import lists from './data/opinions.json' with { type: 'json' }
import vader from './data/vader.json' with { type: 'json' }

/** Praise and blame in a text: how much, where, and with which marks. */
type Opinions = {
  readonly good: number
  readonly bad: number
  /** Of the last third of the text, where people sum up. */
  readonly lateGood: number
  readonly lateBad: number
  readonly negations: number
}

type OpinionLists = {
  readonly good: readonly string[]
  readonly bad: readonly string[]
  readonly negations: readonly string[]
}

/** The words of praise (1) and blame (-1) of a language, by word, by stem and by two words. */
type Dictionary = {
  readonly list: PhraseList
  readonly stems: ReadonlyMap<string, number>
  readonly negations: ReadonlySet<string>
}

/** A shorter stem belongs to too many words. */
const MIN_STEM_CHARACTERS = 4
/** A negation turns praise and blame in so many next words. */
const NEGATION_REACH = 3
/** Denied praise is blame, but denied blame is hardly praise: not bad, no problem. */
const DENIED_PRAISE = -1
const DENIED_BLAME = 0.4

const toDictionary = (language: string, { good, bad, negations }: OpinionLists): Dictionary => {
  const values = new Map<string, number>()
  for (const word of toPhrases(bad)) values.set(word, -1)
  for (const word of toPhrases(good)) values.set(word, 1)
  const stems = new Map<string, number>()
  for (const [word, value] of values) {
    const key = stem(word, language)
    if (key.length >= MIN_STEM_CHARACTERS && !word.includes(' ')) stems.set(key, (stems.get(key) ?? 0) + value)
  }
  return { list: toPhraseList(values), stems, negations: new Set(toPhrases(negations)) }
}

const ENGLISH: OpinionLists = {
  good: [...lists.en.good, ...vader.good],
  bad: [...lists.en.bad, ...vader.bad],
  negations: lists.en.negations,
}
const DICTIONARIES = new Map(
  Object.entries({ ...lists, en: ENGLISH }).map(([language, own]) => [
    language,
    atFirstUse(() => toDictionary(language, own)),
  ]),
)
/** In these languages a negation often stands after its word: gefällt mir nicht. */
const NEGATED_AFTER: ReadonlySet<string> = new Set(['de', 'nl', 'tr'])
const KANA = /[\u3041-\u30ff]/

/** The language of a text, as the lists have it; Chinese or Japanese by its letters. */
export const languageOf = ({ reading, text }: Analysis): string => {
  const { language } = reading.lexicon
  if (language !== 'segmented') return language
  return KANA.test(text) ? 'ja' : 'zh'
}

export const findOpinions = (analysis: Analysis): Opinions => {
  const language = languageOf(analysis)
  const dictionary = DICTIONARIES.get(language)?.()
  if (dictionary === undefined) return { good: 0, bad: 0, lateGood: 0, lateBad: 0, negations: 0 }
  const found =
    language === 'ja' || language === 'zh'
      ? inCharacters(analysis.text, dictionary)
      : inWords(analysis, { language, dictionary })
  return sum(found)
}

/** Values at their places in the text, from 0 to 1. */
type FoundOpinions = { readonly values: { value: number; place: number }[]; readonly negations: number }

const sum = ({ values, negations }: FoundOpinions): Opinions => {
  const total = { good: 0, bad: 0, lateGood: 0, lateBad: 0 }
  for (const { value, place } of values) {
    if (value > 0) total.good += value
    else total.bad -= value
    if (place < 2 / 3) continue
    if (value > 0) total.lateGood += value
    else total.lateBad -= value
  }
  return { ...total, negations }
}

const turned = (value: number): number => (value > 0 ? DENIED_PRAISE : DENIED_BLAME)

type Spoken = { readonly language: string; readonly dictionary: Dictionary }

const inWords = ({ tokens, reading }: Analysis, { language, dictionary }: Spoken): FoundOpinions => {
  const values: { value: number; place: number; at: number }[] = []
  let negations = 0
  let reach = 0
  let words = 0
  for (const [at, token] of tokens.entries()) {
    if (token.kind === 'break') reach = 0
    if (token.kind !== 'word') continue
    words++
    const next = tokens[at + 1]
    const hasPairs = next?.kind === 'word' && dictionary.list.words.get(token.text) === 2
    const pair = hasPairs ? dictionary.list.values.get(`${token.text} ${next.text}`) : undefined
    const value = pair ?? valueOf(dictionary, token.text, reading.lexicon)
    if (value !== 0) values.push({ value: reach > 0 ? turned(value) : value, place: at / tokens.length, at: words })
    reach--
    if (!dictionary.negations.has(token.text)) continue
    negations++
    reach = NEGATION_REACH
    const last = values.at(-1)
    if (NEGATED_AFTER.has(language) && last !== undefined && last.value > 0 && words - last.at <= NEGATION_REACH)
      last.value = turned(last.value)
  }
  return { values, negations }
}

const valueOf = ({ list, stems }: Dictionary, word: string, lexicon: Lexicon): number => {
  const value = list.values.get(word)
  if (value !== undefined) return value
  if (word.length < MIN_STEM_CHARACTERS) return 0
  return Math.sign(stems.get(traitsOf(lexicon, word).stem) ?? 0)
}

const DENIED_BEFORE = /(?:不|没有|没|无|別|别)(?:太|很|怎么|那么|是很|算|够|会|能|怎麼)?$/
const DENIED_AFTER = /^.{0,4}?(?:ない|なく|なかった|ません|ず)/
const MAX_READ_CHARACTERS = 4_000

const inCharacters = (given: string, { list }: Dictionary): FoundOpinions => {
  const text = given.slice(0, MAX_READ_CHARACTERS)
  let negations = 0
  const values = findPhrases(text, list).map(({ at, phrase }) => {
    const value = list.values.get(phrase) ?? 0
    const end = at + phrase.length
    const isDenied =
      value > 0 &&
      (DENIED_BEFORE.test(text.slice(Math.max(0, at - 4), at)) || DENIED_AFTER.test(text.slice(end, end + 8)))
    if (isDenied) negations++
    return { value: isDenied ? turned(value) : value, place: at / text.length }
  })
  return { values, negations }
}

export const isNegation = (language: string, word: string): boolean =>
  DICTIONARIES.get(language)?.().negations.has(word) === true

import { englishWords } from './english-words.ts'
import exceptions from './data/singulars.json' with { type: 'json' }

const MIN_UNLISTED_CHARACTERS = 3
const MAX_UNLISTED_CHARACTERS = 24

/** Endings of adjectives, adverbs, participles and verbs. */
const NOT_NOUN: Readonly<Record<string, RegExp>> = {
  es: /(?:mente|ando|iendo|ados?|idos?|amos|imos|aron|ieron|aba|aban|ísim[oa]s?|ó|[aei]r|[aei]rse)$/,
  fr: /(?:amment|emment|ement|iment|ait|aient|ez|ons|antes?|ées?|és|eux|euses?|ables?)$/,
  pt: /(?:mente|ando|endo|indo|ados?|idos?|amos|emos|aram|eram|íssim[oa]s?|ou|[aei]r)$/,
  it: /(?:mente|ando|endo|iamo|avano|evano|at[oaie]|ut[oaie]|issim[oaie]|ò|[aei]re|[aei]rsi)$/,
  de: /(?:lich|lichen|liche|ig|ige|igen|isch|ische|ischen|bar|haft|los|sam)$/,
  nl: /(?:lijk|lijke|ig|ige|isch|ische|baar|bare|loos|loze|zaam)$/,
  ru: /(?:ый|ий|ой|ая|яя|ое|ее|ые|ие|ого|его|ому|ему|ым|им|ых|их|ую|юю|ть|ться|тся|л|ла|ло|ли|лся|лась|лись|ет|ют|ит|ят|ем|им|ешь|ишь|но)$/,
  pl: /(?:ny|na|ne|ego|emu|ych|ymi|ąc|ować|ać|ić|yć|łem|łam|[aiyą]ł|[aiyę]ł[aoy]|ali|ili|yli|ują|uje|eją|ają|szczą|nie|wie)$/,
  tr: /(?:yor|yorum|yoruz|mak|mek|dım|dim|dum|düm|tım|tim|dık|dik|mış|miş|acak|ecek|malı|meli|yd[ıiuü])$/,
}
const SENSELESS = /^[^aeiouyàáâãäåæèéêëìíîïòóôõöùúûüąęóıаеёиоуыэюяіїє]+$|(.)\1\1/

/**
 * Whether an unlisted word is too short or too long. In languages other than Arabic, Chinese,
 * Japanese and Thai, also whether it has no vowel, or the same letter three times in a row.
 */
export const isSenseless = (language: string, word: string): boolean => {
  if (word.length > MAX_UNLISTED_CHARACTERS) return true
  if (language === 'ar' || language === 'segmented') return word.length < 2
  return word.length < MIN_UNLISTED_CHARACTERS || SENSELESS.test(word)
}

export const isEnglishAdjective = (word: string): boolean =>
  englishWords().adjectives.has(word) || /.{3}(?:able|ible|ful|less|ous|ive|ical|ish|ly)$/.test(word)

/**
 * Whether a word looks like no noun. In English: a verb, a verb with -ing, -ed, -es or -s, or a
 * noun with -ing, -ed or -es. Ask only about words that no list has as nouns: the answer for
 * `boxes` is wrong.
 */
export const isNoNoun = (language: string, word: string): boolean => {
  if (language !== 'en') return NOT_NOUN[language]?.test(word) === true
  const { verbs, groupOf } = englishWords()
  if (verbs.has(word)) return true
  const ending = /(?:ing|ed|es|s)$/.exec(word)
  if (!ending) return false
  const root = word.slice(0, ending.index)
  const isKnown = (form: string): boolean => verbs.has(form) || (ending[0].length > 1 && groupOf.has(form))
  return isKnown(root) || isKnown(`${root}e`) || (/(.)\1$/.test(root) && isKnown(root.slice(0, -1)))
}

const IRREGULAR = new Map(Object.entries(exceptions.irregular))
const UNCHANGED = new Set(exceptions.unchanged)

/**
 * The singular of an English noun in lower case, by a simple rule: batteries, battery; boxes, box;
 * apps, app.
 */
export const singular = (noun: string): string => {
  const irregular = IRREGULAR.get(noun)
  if (irregular !== undefined) return irregular
  if (noun.length < 4 || UNCHANGED.has(noun) || !noun.endsWith('s') || /(?:ss|us|is)$/.test(noun)) return noun
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`
  return /(?:[^ao]us|ss|sh|ch|x|zz)es$/.test(noun) ? noun.slice(0, -2) : noun.slice(0, -1)
}

/** Letters beyond ASCII in the languages of windows-1252. A word belongs to one language. */
const ALPHABETS = [
  'àâæçèéêëîïôœùûüÿñ', // French
  'äöüßéàè', // German
  'áéíñóúüçàèòïâêôãõ', // Spanish, Portuguese and Catalan
  'àèéìíîòóùú', // Italian
  'æøåéóòôâêäöü', // Danish and Norwegian
  'åäöéàüõæ', // Swedish, Finnish and Estonian
  'áéíóúàèëïöüêîôûâ', // Dutch, Irish and Welsh
  'áðéíóúýþæöø', // Icelandic and Faroese
  'šž', // Names
].map((letters) => new Set(letters))
const LONE_LETTERS = new Set('àáèéìíòóùúåäöøæß')
/**
 * No language has letters of both groups. Turkish, Czech and Baltic text looks like such a mixture.
 */
const CONFLICTS = [
  [/[ðþý]/i, /[èìùòêë]/i],
  [/ø/i, /ì|ò(?!g)/i], // Norwegian has òg.
  [/õ(?!e)/i, /[áéíóú]/i], // Portuguese has õe.
] as const
/**
 * Icelandic text has letters of both groups. Turkish text looks as if it had only those of the first.
 */
const ICELANDIC = /[ðþý]/i
const ICELANDIC_TOO = /[áíóúæ]/i

/** A run of letters, and of characters at the places of letters in other code pages. */
const WORD = /[\p{L}\p{M}¢£¤¥¦§¨¬¯±²³´µ¶·¸¹¿¡†‡ˆ˜ƒ‰‹›„‚”“]+/gu
/** Characters before and after words, such as quotes and units. */
const AROUND = /^[¿¡„‚“”‹›§£¥¢†‡¨±µ]+|[”“›‹†‡²³¢£¥]+$/gu
/** Signs within words: ordinals, the Catalan dot, and an accent that stands for an apostrophe. */
const WITHIN = /(?<=^\p{L}{0,2})[ºª]$|(?<=^\p{L}{1,2})´|(?<=\p{L})´(?=\p{Ll}{1,2}$)|(?<=\p{L})·(?=\p{L})/gu
/** Bytes without a character in windows-1252 become these control characters. */
const LEFT_OUT = /[\x80-\x9f]/
const ASCII = /^[\0-\x7f]*$/
const CAPITAL_WITHIN = /\p{Ll}(?![A-Z])\p{Lu}/u
const SYMBOL_WITHIN = /[^\p{L}\p{M}]/u

/**
 * The place of a word or letter that shows that the text is not windows-1252; undefined if there is
 * none. Text in another encoding soon has a word without ASCII letters, with symbols inside, with
 * capitals after small letters, or with letters of two languages.
 */
export const findImplausible = (text: string): number | undefined => {
  const leftOut = text.search(LEFT_OUT)
  if (leftOut !== -1) return leftOut
  for (const { 0: word, index } of text.matchAll(WORD)) if (!ASCII.test(word) && !isPlausible(word)) return index
  const mixed = CONFLICTS.find(([one, other]) => one.test(text) && other.test(text))
  if (mixed !== undefined) return text.search(mixed[0])
  return ICELANDIC.test(text) && !ICELANDIC_TOO.test(text) ? text.search(ICELANDIC) : undefined
}

const isPlausible = (given: string): boolean => {
  const word = given.replace(AROUND, '').replace(WITHIN, '')
  if (SYMBOL_WITHIN.test(word) || CAPITAL_WITHIN.test(word)) return false
  const letters = [...word.toLowerCase()]
  const foreign = letters.filter((letter) => letter > '\x7f')
  if (letters.length === 1 && foreign.length === 1) return LONE_LETTERS.has(letters[0]!)
  if (letters.length > 0 && foreign.length === letters.length) return false
  return ALPHABETS.some((alphabet) => foreign.every((letter) => alphabet.has(letter)))
}

// Texts that stand for nothing: programs, databases and spreadsheets write them for a missing value.
// As a key, such a text would unite strangers, and a purge would remove them all. The package of the
// client has a copy of this file for the recipes, so the file imports nothing.

/** Words that are placeholders. `PLACEHOLDER_FORMS` describes all other placeholders. */
export const PLACEHOLDER_WORDS = [
  'null',
  'undefined',
  'none',
  'nil',
  'nan',
  'nat',
  'n/a',
  'na',
  'n.a.',
  'unknown',
  'anonymous',
  'guest',
  'missing',
  'not provided',
  'not_authenticated',
  '0',
  'true',
  'false',
] as const

/** The forms of placeholders, for the reference. */
export const PLACEHOLDER_FORMS = [
  'a text without letters and digits, such as `-`',
  '`\\N` of a database',
  'a text wholly in brackets or in the marks of templates, such as `(null)`, `[empty]`, `<NA>`, `{{ticket.requester.email}}`, `${email}`, `%EMAIL%`, `##email##`, `*|EMAIL|*`. An address in `<…>` and a UUID in `{…}` are values',
  'an error of a spreadsheet, such as `#N/A` and `#REF!`',
] as const

const FORMAT_CHARACTERS = /\p{Cf}/gu
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
/** Without the flag `u`, the flag `i` takes no other letter for an ASCII letter. */
const WORD = new RegExp(
  `^(?:${PLACEHOLDER_WORDS.map((word) => word.replaceAll('.', '\\.').replaceAll(' ', '\\s+')).join('|')})$`,
  'i',
)
const DATABASE_NULL = /^\\{1,2}N$/i
const SPREADSHEET_ERROR = /^#\p{L}[\p{L}\d_/]*(?:[!?]|(?<=\/A))$/iu
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '<': '>', '{': '}' }
/** The marks of templates other than braces. */
const MARKED = /%[^%]*%|#[^#]+#|\*\|[^|]*\|\*/g
const UUID_IN_BRACES = /^\{[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\}$/i

/** The text without invisible format characters, and without white space around it. */
export const withoutFormat = (given: string): string => given.replace(FORMAT_CHARACTERS, '').trim()

/** Whether a text is blank or a placeholder, in upper or lower case. */
export const isPlaceholder = (given: string): boolean => {
  const plain = withoutFormat(given)
  return (
    !LETTER_OR_DIGIT.test(plain) ||
    WORD.test(plain) ||
    DATABASE_NULL.test(plain) ||
    SPREADSHEET_ERROR.test(plain) ||
    isInBrackets(plain) ||
    !LETTER_OR_DIGIT.test(outsideBraces(plain).replace(MARKED, ''))
  )
}

/** Whether a text is an address: one `@` with something on both sides, neither a placeholder. */
export const isAddress = (text: string): boolean => {
  const [local = '', domain = '', more] = text.split('@', 3)
  // The domain first: it is empty without an `@`, and the recursion ends.
  return more === undefined && !isPlaceholder(domain) && !isPlaceholder(local)
}

/** Whether the bracket at the start does not close before the end, and the brackets hold no value. */
const isInBrackets = (text: string): boolean => {
  const opening = text[0] ?? ''
  const closing = CLOSING[opening]
  if (closing === undefined || !text.endsWith(closing) || closesBefore(text, opening, closing)) return false
  // A Message-ID of an email, and a GUID as programs of Microsoft write it.
  return !(opening === '<' && isAddress(text.slice(1, -1))) && !UUID_IN_BRACES.test(text)
}

/** The text without the parts in braces; the same text if a brace has no other one. */
const outsideBraces = (text: string): string => {
  if (!text.includes('{') || UUID_IN_BRACES.test(text)) return text
  let outside = ''
  let depth = 0
  for (const character of text) {
    if (character === '{') depth++
    else if (character === '}') depth--
    else if (depth === 0) outside += character
    if (depth < 0) return text
  }
  return depth === 0 ? outside : text
}

/** Whether the bracket at the start closes before the end. */
const closesBefore = (text: string, opening: string, closing: string): boolean => {
  let depth = 0
  for (let at = 0; at < text.length - 1; at++) {
    if (text[at] === opening) depth++
    else if (text[at] === closing && --depth === 0) return true
  }
  return false
}

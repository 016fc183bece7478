// The canonical forms of keys, for comparison and hashing. Columns keep the text as it was sent.

const FORMAT_CHARACTERS = /\p{Cf}/gu
const WHITE_SPACE = /\s+/gu
const ADDRESS_IN_BRACKETS = /<([^<>]*)>$/
const MAILTO = /^(?:mailto:\s*)+/i
const URL_SCHEME = /^https?:\/\//i
const PORT = /^([^:]*):\d+$/
const END_OF_HOST = /(?<![.:\s])[.:\s]+$/
const WWW = /^(?:www\.\s*)+(?=.)/s

/**
 * Texts that clients send for a missing value. As an email, name or domain they count as absent. As
 * an external id of an identify, a purge or a feedback they are refused.
 */
export const PLACEHOLDERS = [
  'null',
  'undefined',
  'none',
  'nil',
  'nan',
  'n/a',
  'na',
  '-',
  '--',
  '?',
  'unknown',
  'anonymous',
  'guest',
  'not_authenticated',
  '[object object]',
  '0',
  'true',
  'false',
] as const
/** Without the flag `u`, the flag `i` folds ASCII letters only. */
const BLANK_OR_PLACEHOLDER = new RegExp(
  `^(?:${PLACEHOLDERS.map((text) => text.replace(/[?[\]]/g, '\\$&')).join('|')})?$`,
  'i',
)

/**
 * Whether a text is blank or a placeholder, in any case, also with white space and format
 * characters around it.
 */
export const isPlaceholder = (given: string): boolean => isAbsent(withoutFormat(given))

const isAbsent = (plain: string): boolean => BLANK_OR_PLACEHOLDER.test(plain)

const withoutFormat = (given: string): string => given.replace(FORMAT_CHARACTERS, '').trim()

/**
 * Folds ASCII letters only. `toLowerCase` would turn the KELVIN SIGN into a k, and make two people
 * one.
 */
const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** @param plain the text without format characters, otherwise unchanged */
const present = (plain: string, canonical: string): string | undefined =>
  isAbsent(plain) || isAbsent(canonical) ? undefined : canonical

/**
 * The canonical form of an email: the bare address, in lower case if it has an `@`. Undefined if it
 * counts as absent.
 */
export const canonicalEmail = (given: string): string | undefined => {
  const plain = withoutFormat(given)
  const address = ADDRESS_IN_BRACKETS.exec(plain)?.[1] ?? plain
  const bare = address.trim().replace(MAILTO, '')
  return present(plain, (bare.includes('@') ? asciiLowerCase(bare) : bare).normalize('NFC'))
}

/**
 * The canonical form of a name of a contact, account or project. Undefined if it counts as absent.
 */
export const canonicalName = (given: string): string | undefined => {
  const plain = withoutFormat(given)
  return present(plain, plain.replace(WHITE_SPACE, ' ').normalize('NFC'))
}

/**
 * The canonical form of a domain: the host of a URL, without `www.` and a final dot. Undefined if
 * it counts as absent.
 */
export const canonicalDomain = (given: string): string | undefined => {
  const plain = withoutFormat(given)
  const host = hostOf(plain.normalize('NFC'))
  return present(plain, host.includes('.') ? asciiLowerCase(host).replace(WWW, '') : host)
}

/**
 * The host of a URL, or of a host with a path. Any other text stays unchanged: `Sales/EU` names no
 * host.
 */
const hostOf = (text: string): string => {
  const isUrl = URL_SCHEME.test(text)
  const [authority = ''] = text.replace(URL_SCHEME, '').split(/[/?#]/, 1)
  if (!isUrl && !authority.includes('.')) return text
  const host = isUrl ? authority.slice(authority.lastIndexOf('@') + 1) : authority
  return host.trimStart().replace(END_OF_HOST, '').replace(PORT, '$1').replace(END_OF_HOST, '')
}

import { Buffer } from 'node:buffer'
import { countBreaks } from './lines.ts'
import { ImportError } from './import-error.ts'
import { findImplausible } from './plausible-text.ts'

type Decoded = { readonly text: string; readonly encoding: string }

const MARKS: readonly (readonly [bytes: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]
/** From this share of the bytes on, NUL bytes are halves of characters. Fewer can be damage. */
const MIN_NUL_SHARE = 0.1
const HINT = 'name its encoding with --encoding, such as windows-1252, windows-1251, shift_jis, gb18030 or euc-kr'

/**
 * The text of a file, in the given encoding. Without a given one, the bytes tell the encoding: by a
 * byte order mark, the places of NUL bytes, or valid UTF-8. Other bytes are read as windows-1252 if
 * that makes words.
 *
 * @throws ImportError when the encoding is unknown, or the text does not fit it; the message names
 * the place
 */
export const decodeText = (bytes: Uint8Array, path: string, label?: string): Decoded => {
  const marked = MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1]
  const given = label === undefined ? undefined : encodingOf(label)
  if (marked !== undefined && given !== undefined && given !== marked)
    throw new ImportError(`${path} begins with the byte order mark of ${marked}: leave out --encoding ${label}.`)
  const known = given ?? marked ?? wideEncodingOf(bytes)
  const encoding = known ?? 'utf-8'
  const text = tryDecode(bytes, encoding)
  if (text === undefined) {
    const where = firstWrong(bytes, encoding)
    if (known !== undefined || isMostlyUtf8(bytes))
      throw new ImportError(`${path} is not ${encoding}: ${where} does not fit. Correct the byte, or ${HINT}.`)
    return asWestern(bytes, { path, where })
  }
  refuseUnreadable(text, path)
  return { text, encoding }
}

const encodingOf = (label: string): string => {
  try {
    return new TextDecoder(label).encoding
  } catch {
    throw new ImportError(
      '--encoding must be a label of the Encoding standard, such as utf-8, utf-16le, windows-1252 or shift_jis.',
    )
  }
}

const tryDecode = (bytes: Uint8Array, encoding: string, stream = false): string | undefined => {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream })
  } catch {
    return undefined
  }
}

/**
 * Recognises UTF-16 without a byte order mark. In the right byte order the text has more line ends,
 * or else more ASCII.
 */
const wideEncodingOf = (bytes: Uint8Array): string | undefined => {
  if (!bytes.includes(0)) return undefined
  const [le, be] = [evidence(bytes, 0), evidence(bytes, 1)]
  const isDamage = le.nuls + be.nuls < bytes.length * MIN_NUL_SHARE && tryDecode(bytes, 'utf-8') !== undefined
  const order = le.lineEnds - be.lineEnds || le.ascii - be.ascii
  if (isDamage || order === 0) return undefined
  return order > 0 ? 'utf-16le' : 'utf-16be'
}

/** Counts the signs that the low byte of each pair is the first (0) or the second (1). */
const evidence = (bytes: Uint8Array, lower: 0 | 1) => {
  const found = { nuls: 0, ascii: 0, lineEnds: 0 }
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    if (bytes[at + 1 - lower] !== 0) continue
    const code = bytes[at + lower]!
    found.nuls++
    if (code === LINE_FEED || code === CARRIAGE_RETURN) found.lineEnds++
    if (code > 0 && code < 0x7f) found.ascii++
  }
  return found
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** The longest prefix that can be decoded ends before the wrong byte. */
const firstWrong = (bytes: Uint8Array, encoding: string): string => {
  let [good, bad] = [0, bytes.length]
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    if (tryDecode(bytes.subarray(0, middle), encoding, true) === undefined) bad = middle
    else good = middle
  }
  // If the prefix ends within a character, the wrong byte is the first of this character.
  while (tryDecode(bytes.subarray(0, good), encoding) === undefined) good--
  const line = 1 + countBreaks(tryDecode(bytes.subarray(0, good), encoding) ?? '')
  return `a byte in line ${line} (offset ${good} of the file)`
}

const HIGH_BYTES = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g

/** Beyond ASCII, text in another encoding rarely contains valid characters of UTF-8. */
const isMostlyUtf8 = (bytes: Uint8Array): boolean => {
  const characters = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').match(HIGH_BYTES)
  const wrong = characters?.filter((character) => character.length === 1).length ?? 0
  return (characters?.length ?? 0) - wrong >= wrong
}

const asWestern = (bytes: Uint8Array, { path, where }: { path: string; where: string }): Decoded => {
  const text = new TextDecoder('windows-1252').decode(bytes)
  const wrong = findImplausible(text)
  if (wrong === undefined) {
    refuseUnreadable(text, path)
    return { text, encoding: 'windows-1252' }
  }
  const line = 1 + countBreaks(text.slice(0, wrong))
  throw new ImportError(
    `${path} is not UTF-8: ${where} does not fit. As windows-1252 it would have letters in line ${line} that make no ` +
      `words. Correct the byte, or ${HINT}.`,
  )
}

/** Characters that text does not contain. They often show another encoding. */
const UNREADABLE = [
  [/\0/, 'a NUL character. If the file is UTF-16, add --encoding utf-16le or utf-16be; else remove the character'],
  // oxlint-disable-next-line no-control-regex -- the search is for these characters
  [/\x1b[$(]/, 'an escape sequence of iso-2022-jp: add --encoding iso-2022-jp, or remove the sequence'],
] as const

const refuseUnreadable = (text: string, path: string): void => {
  for (const [pattern, what] of UNREADABLE) {
    const at = text.search(pattern)
    if (at === -1) continue
    throw new ImportError(
      `${path} has in line ${1 + countBreaks(text.slice(0, at))}, at character ${at + 1} of the file, ${what}.`,
    )
  }
}

import { countBreaks } from './lines.ts'
import { ImportError } from './import-error.ts'

export type Decoded = { readonly text: string; readonly encoding: string }

const MARKS: readonly (readonly [bytes: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]
const HINT =
  'name its encoding with --encoding, such as windows-1252 (Excel in Western Europe), utf-16le, shift_jis or gb18030'

/**
 * The text of a file. Its encoding is the given one, or the one that its bytes prove: by a byte
 * order mark, or by valid UTF-8.
 *
 * @throws ImportError naming the line and the offset of the first byte that does not fit
 */
export const decodeText = (bytes: Uint8Array, path: string, label?: string): Decoded => {
  const marked = MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1]
  const given = label === undefined ? undefined : encodingOf(label)
  if (marked !== undefined && given !== undefined && given !== marked)
    throw new ImportError(`${path} begins with the byte order mark of ${marked}: leave out --encoding ${label}.`)
  const encoding = given ?? marked ?? 'utf-8'
  const text = tryDecode(bytes, encoding)
  if (text === undefined)
    throw new ImportError(
      `${path} is not ${encoding}: ${firstWrong(bytes, encoding)} does not fit. Correct the byte, or ${HINT}.`,
    )
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

/** The longest prefix that can be decoded ends before the wrong byte. */
const firstWrong = (bytes: Uint8Array, encoding: string): string => {
  let [good, bad] = [0, bytes.length]
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    if (tryDecode(bytes.subarray(0, middle), encoding, true) === undefined) bad = middle
    else good = middle
  }
  // A truncated character began earlier.
  while (tryDecode(bytes.subarray(0, good), encoding) === undefined) good--
  const line = 1 + countBreaks(tryDecode(bytes.subarray(0, good), encoding) ?? '')
  return `a byte in line ${line} (offset ${good} of the file)`
}

/** Characters that do not occur in text, and so show another encoding. */
const UNREADABLE = [
  [/\0/, 'a NUL character. If the file is UTF-16, add --encoding utf-16le or utf-16be; else remove the character'],
  // oxlint-disable-next-line no-control-regex -- the search is for these characters
  [/\x1b[$(]/, 'an escape sequence of iso-2022-jp: add --encoding iso-2022-jp, or remove it'],
] as const

const refuseUnreadable = (text: string, path: string): void => {
  for (const [pattern, what] of UNREADABLE) {
    const at = text.search(pattern)
    if (at === -1) continue
    throw new ImportError(
      `${path} has in line ${1 + countBreaks(text.slice(0, at))}, at character ${at} of the file, ${what}.`,
    )
  }
}

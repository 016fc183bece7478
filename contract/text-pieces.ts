/** A word, or one character of a script without spaces, in the form that a search compares. */
export type TextPiece = {
  readonly text: string
  readonly isCharacter: boolean
  /** Whether it is a character directly behind another one. */
  readonly isJoined: boolean
}

/** The scripts without spaces, as a class of characters. */
export const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\u30fc\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'

const ASCII = /^[\0-\x7f]*$/
/** Characters without a glyph. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
/** Normalization takes quadratic time for longer piles of marks. Unicode calls 30 stream-safe. */
const PILED_MARKS = /(\p{M}{30})\p{M}+/gu
const PLAIN_WORD = /[a-z0-9]+/g
const PIECE = new RegExp(`([${UNSPACED}])|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+|\\p{Extended_Pictographic}`, 'gu')

/** The pieces of a text in NFKC, without format characters and upper case. */
export const piecesOf = (text: string): TextPiece[] => {
  if (ASCII.test(text)) return (text.toLowerCase().match(PLAIN_WORD) ?? []).map(pieceOfWord)
  let end = -1
  return [...fold(text).matchAll(PIECE)].map(({ 0: piece, 1: character, index }) => {
    if (character === undefined) return pieceOfWord(piece)
    const isJoined = index === end
    end = index + piece.length
    return { text: piece, isCharacter: true, isJoined }
  })
}

const pieceOfWord = (text: string): TextPiece => ({ text, isCharacter: false, isJoined: false })

/** Greek has two small letters for sigma. In lower case, the Turkish İ is an i with a dot above. */
const fold = (text: string): string =>
  text
    .replaceAll(INVISIBLE, '')
    .replaceAll(PILED_MARKS, '$1')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll('i\u0307', 'i')

const ACCENTED = /([\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu
/** Letters that Unicode does not take apart. In Cyrillic, only ё is written without its marks. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ł: 'l',
  ı: 'i',
  ё: 'е',
}
const OTHER_LETTER = new RegExp(`[${Object.keys(PLAIN_LETTERS).join('')}]`, 'gu')

/** A word of a piece, as people write it who have no accents. */
export const withoutAccents = (word: string): string =>
  ASCII.test(word)
    ? word
    : word
        .normalize('NFD')
        .replaceAll(ACCENTED, '$1')
        .normalize('NFC')
        .replaceAll(OTHER_LETTER, (letter) => PLAIN_LETTERS[letter]!)

import termsWithDigits from './data/terms-with-digits.json' with { type: 'json' }
import { UNSPACED } from '../contract/text-pieces.ts'

/**
 * `word`: a word in lower case that may become part of a tag. `segment`: a word of a script without
 * spaces. `hidden`: an address, a number, an identifier or another text that must never be in a
 * tag; its text is not kept. `break`: the end of a phrase.
 */
export type Token =
  | {
      readonly kind: 'word'
      readonly text: string
      readonly isCapitalised: boolean
      readonly isUpper: boolean
      /** The noun of an event for a verb in the text: `login` for logging in. */
      readonly isEvent?: boolean
    }
  | { readonly kind: 'segment'; readonly text: string }
  | { readonly kind: 'hidden'; readonly reason: 'number' | 'mail sign' | 'other' }
  | { readonly kind: 'break' }

/** The most characters of a text to read. */
export const MAX_TEXT_CHARACTERS = 12_000
/** The words that people write are shorter. Patterns would take long for a longer chunk. */
const MAX_CHUNK_CHARACTERS = 64
/** Segmentation by a dictionary is slow. */
const MAX_SEGMENTED_CHARACTERS = 4_000

export const HIDDEN: Token = { kind: 'hidden', reason: 'other' }
const NUMBER: Token = { kind: 'hidden', reason: 'number' }
const LONE_MAIL_SIGN: Token = { kind: 'hidden', reason: 'mail sign' }
const BREAK: Token = { kind: 'break' }

const TERMS_WITH_DIGITS = new Set(termsWithDigits)
const ELIDED = new Set('c d j l m n s t qu un all dell nell sull dall dagl quell cos com'.split(' '))

const INVISIBLE = /[\u00ad\u200b-\u200f\u2060\ufeff]/g
const QUOTES = /[\u2018\u2019\u02bc\u0060\u00b4\uff07]/g
const LINE_ENDS: ReadonlySet<number> = new Set([0x0a, 0x2028, 0x2029])
/** White space beyond ASCII. */
const SPACES: ReadonlySet<number> = new Set([
  0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029,
  0x202f, 0x205f, 0x3000,
])

const codesOf = (characters: string): ReadonlySet<number> =>
  new Set([...characters].map((character) => character.charCodeAt(0)))

const OPENING = codesOf('(["')
const CLOSING = codesOf('.,!?;:)]"')
const SCRIPT_RUNS = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, 'gu')
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u')
const DIGIT = /\p{N}/u
const MAIL_SIGN = /@|[([{]at[)\]}]/i
const ONLY_MAIL_SIGN = /^(?:@|[([{]at[)\]}])$/i
const ADDRESS = /:\/\/|^www\.|\p{L}\.\p{L}|[\\_=]|\/.*\//iu
const MIN_HEXADECIMAL_CHARACTERS = 8
const HEXADECIMAL = /^[a-f-]{8,}$/i
const WORDS_AND_BREAKS = /([\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*)|[^\p{L}\p{M}\p{N}'-]+|--+/gu

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })

/** Splits a text into tokens, in linear time. */
export const tokenize = (text: string): Token[] => {
  const tokens: Token[] = []
  const straight = straighten(text)
  let segmented = 0
  let start = 0
  while (start < straight.length) {
    const code = straight.charCodeAt(start)
    if (isSpace(code)) {
      if (LINE_ENDS.has(code)) tokens.push(BREAK)
      start++
      continue
    }
    const end = findChunkEnd(straight, start)
    if (!pushPlainWord(tokens, straight, { start, end })) {
      segmented += pushRuns(tokens, straight.slice(start, end), MAX_SEGMENTED_CHARACTERS - segmented)
    }
    start = end
  }
  if (!tokens.some(({ kind }) => kind === 'hidden')) return tokens
  return tokens.map((token, at) => (isPartOfIdentifier(token, tokens[at - 1], tokens[at + 1]) ? HIDDEN : token))
}

const findChunkEnd = (text: string, start: number): number => {
  let end = start + 1
  while (end < text.length && !isSpace(text.charCodeAt(end))) end++
  return end
}

const isSpace = (code: number): boolean => {
  if (code < 0x80) return code === 0x20 || (code >= 9 && code <= 13)
  return code >= 0xa0 && SPACES.has(code)
}

/** A chunk is the text between two pieces of white space. */
type Chunk = { readonly start: number; readonly end: number }

/**
 * Reads a usual chunk fast: letters from a to z between punctuation. Returns false if the chunk
 * needs `pushRuns`.
 */
const pushPlainWord = (tokens: Token[], text: string, { start, end }: Chunk): boolean => {
  let from = start
  while (from < end && OPENING.has(text.charCodeAt(from))) from++
  let to = from
  while (to < end && isPlainLetter(text.charCodeAt(to))) to++
  let after = to
  while (after < end && CLOSING.has(text.charCodeAt(after))) after++
  if (after < end || to - from > MAX_CHUNK_CHARACTERS) return false
  if (to === from) {
    tokens.push(BREAK)
    return true
  }
  const written = text.slice(from, to)
  // `(at)` stands for the @ of a mail address.
  if (from > start && after > to && to - from === 2 && MAIL_SIGN.test(text.slice(start, end))) return false
  if (to - from >= MIN_HEXADECIMAL_CHARACTERS && HEXADECIMAL.test(written)) return false
  if (from > start) tokens.push(BREAK)
  pushWord(tokens, written)
  if (after > to) tokens.push(BREAK)
  return true
}

const isPlainLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)

/** Splits a chunk where the script changes. Returns how many characters went to the dictionary. */
const pushRuns = (tokens: Token[], chunk: string, segmentable: number): number => {
  let segmented = 0
  for (const [run] of chunk.matchAll(SCRIPT_RUNS)) {
    if (!IS_UNSPACED.test(run)) pushChunk(tokens, run)
    else if (segmented < segmentable) {
      const read = run.slice(0, segmentable - segmented)
      pushSegments(tokens, read)
      segmented += read.length
    }
  }
  return segmented
}

const straighten = (text: string): string => {
  const read = text.slice(0, MAX_TEXT_CHARACTERS)
  if (/^[ -_a-\u007e\n]*$/.test(read)) return read
  return read.toWellFormed().replace(QUOTES, "'").replace(INVISIBLE, '')
}

const pushChunk = (tokens: Token[], written: string): void => {
  // NFKC turns full-width digits and letters into usual digits and letters. A whole text of piled
  // marks would take quadratic time.
  const chunk = written.length > MAX_CHUNK_CHARACTERS ? written : written.normalize('NFKC')
  const hidden = hiddenChunk(chunk)
  if (hidden !== undefined) {
    tokens.push(hidden)
    return
  }
  for (const [piece, word] of chunk.matchAll(WORDS_AND_BREAKS)) {
    if (word === undefined) tokens.push(BREAK)
    else pushWord(tokens, piece)
  }
}

const hiddenChunk = (chunk: string): Token | undefined => {
  if (chunk.length > MAX_CHUNK_CHARACTERS) return HIDDEN
  if (ONLY_MAIL_SIGN.test(chunk)) return LONE_MAIL_SIGN
  if (MAIL_SIGN.test(chunk) || ADDRESS.test(chunk) || HEXADECIMAL.test(chunk)) return HIDDEN
  return undefined
}

const pushWord = (tokens: Token[], written: string): void => {
  const text = written.toLowerCase()
  const isCapitalised = text !== written
  const isUpper = isCapitalised && text.length > 1 && written === written.toUpperCase()
  const apostrophe = text.indexOf("'")
  if (DIGIT.test(text) && !TERMS_WITH_DIGITS.has(text)) tokens.push(NUMBER)
  else if (apostrophe > 0 && ELIDED.has(text.slice(0, apostrophe))) {
    tokens.push({ kind: 'word', text: text.slice(0, apostrophe + 1), isCapitalised: false, isUpper: false })
    const rest = written.slice(apostrophe + 1)
    tokens.push({ kind: 'word', text: rest.toLowerCase(), isCapitalised: rest !== rest.toLowerCase(), isUpper })
  } else tokens.push({ kind: 'word', text: text.endsWith("'s") ? text.slice(0, -2) : text, isCapitalised, isUpper })
}

const pushSegments = (tokens: Token[], run: string): void => {
  for (const { segment, isWordLike } of segmenter.segment(run)) {
    if (DIGIT.test(segment)) tokens.push(NUMBER)
    else tokens.push(isWordLike === true ? { kind: 'segment', text: segment } : BREAK)
  }
}

/**
 * Whether a word is part of an IBAN, between groups of digits, or of a mail address with spaces.
 */
const isPartOfIdentifier = (token: Token, before: Token | undefined, after: Token | undefined): boolean => {
  if (token.kind !== 'word') return false
  if (isHiddenAs('mail sign', before) || isHiddenAs('mail sign', after)) return true
  return token.text.length <= 4 && isHiddenAs('number', before) && isHiddenAs('number', after)
}

const isHiddenAs = (reason: 'number' | 'mail sign', token: Token | undefined): boolean =>
  token?.kind === 'hidden' && token.reason === reason

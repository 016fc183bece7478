import termsWithDigits from './data/terms-with-digits.json' with { type: 'json' }

/**
 * `word`: lower case, may become part of a tag. `segment`: a word of a script without spaces. `hidden`: an address, a
 * number, an identifier or anything else that must never be in a tag; its text is not kept. `break`: the phrase ends.
 */
export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly isCapitalised: boolean }
  | { readonly kind: 'segment'; readonly text: string }
  | { readonly kind: 'hidden'; readonly reason: 'number' | 'mail sign' | 'other' }
  | { readonly kind: 'break' }

export const MAX_TEXT_CHARACTERS = 20_000
/** Nothing that people write as one word is longer; it also bounds every pattern below. */
const MAX_CHUNK_CHARACTERS = 64
/** Dictionary segmentation is the one costly step. */
const MAX_SEGMENTED_CHARACTERS = 4_000

const HIDDEN: Token = { kind: 'hidden', reason: 'other' }
const NUMBER: Token = { kind: 'hidden', reason: 'number' }
const LONE_MAIL_SIGN: Token = { kind: 'hidden', reason: 'mail sign' }
const BREAK: Token = { kind: 'break' }

const TERMS_WITH_DIGITS = new Set(termsWithDigits)
const ELIDED = new Set('c d j l m n s t qu un all dell nell sull dall dagl quell cos com'.split(' '))

const INVISIBLE = /[\u00ad\u200b-\u200f\u2060\ufeff]/g
const QUOTES = /[\u2018\u2019\u02bc\u0060\u00b4\uff07]/g
const CHUNKS = /[\n\u2028\u2029]|[^\s]+/g
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\u30fc\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const SCRIPT_RUNS = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, 'gu')
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u')
const DIGIT = /\p{N}/u
const MAIL_SIGN = /@|[([{]at[)\]}]/i
const ONLY_MAIL_SIGN = /^(?:@|[([{]at[)\]}])$/i
const ADDRESS = /:\/\/|^www\.|\p{L}\.\p{L}|[\\_=]|\/.*\//iu
const HEXADECIMAL = /^[a-f-]{8,}$/i
const WORDS_AND_BREAKS = /([\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*)|[^\p{L}\p{M}\p{N}'-]+|--+/gu

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })

/** Cuts a text into tokens, in one pass whose time is linear in its length. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let segmented = 0
  for (const [chunk] of straighten(text).matchAll(CHUNKS)) {
    for (const [run] of chunk.matchAll(SCRIPT_RUNS)) {
      if (!IS_UNSPACED.test(run)) pushChunk(tokens, run)
      else if (segmented < MAX_SEGMENTED_CHARACTERS) {
        pushSegments(tokens, run.slice(0, MAX_SEGMENTED_CHARACTERS - segmented))
        segmented += run.length
      }
    }
  }
  return tokens.map((token, at) => (isPartOfIdentifier(token, tokens[at - 1], tokens[at + 1]) ? HIDDEN : token))
}

function straighten(text: string): string {
  return text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed().replace(QUOTES, "'").replace(INVISIBLE, '')
}

function pushChunk(tokens: Token[], written: string): void {
  // Full-width digits and letters become usual ones. Per chunk, because normalising thousands of piled marks takes
  // quadratic time, and not for Thai, whose vowels it takes apart.
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

function hiddenChunk(chunk: string): Token | undefined {
  if (chunk === '\n' || chunk === '\u2028' || chunk === '\u2029') return BREAK
  if (chunk.length > MAX_CHUNK_CHARACTERS) return HIDDEN
  if (ONLY_MAIL_SIGN.test(chunk)) return LONE_MAIL_SIGN
  if (MAIL_SIGN.test(chunk) || ADDRESS.test(chunk) || HEXADECIMAL.test(chunk)) return HIDDEN
  return undefined
}

function pushWord(tokens: Token[], written: string): void {
  const text = written.toLowerCase()
  const isCapitalised = text !== written
  const apostrophe = text.indexOf("'")
  if (DIGIT.test(text) && !TERMS_WITH_DIGITS.has(text)) tokens.push(NUMBER)
  else if (apostrophe > 0 && ELIDED.has(text.slice(0, apostrophe))) {
    tokens.push({ kind: 'word', text: text.slice(0, apostrophe + 1), isCapitalised: false })
    const rest = written.slice(apostrophe + 1)
    tokens.push({ kind: 'word', text: rest.toLowerCase(), isCapitalised: rest !== rest.toLowerCase() })
  } else tokens.push({ kind: 'word', text: text.endsWith("'s") ? text.slice(0, -2) : text, isCapitalised })
}

function pushSegments(tokens: Token[], run: string): void {
  for (const { segment, isWordLike } of segmenter.segment(run)) {
    tokens.push(isWordLike === true ? { kind: 'segment', text: segment } : BREAK)
  }
}

/** The letters of an IBAN stand between groups of digits; a mail address may be written with spaces. */
function isPartOfIdentifier(token: Token, before: Token | undefined, after: Token | undefined): boolean {
  if (token.kind !== 'word') return false
  if (isHiddenAs('mail sign', before) || isHiddenAs('mail sign', after)) return true
  return token.text.length <= 4 && isHiddenAs('number', before) && isHiddenAs('number', after)
}

function isHiddenAs(reason: 'number' | 'mail sign', token: Token | undefined): boolean {
  return token?.kind === 'hidden' && token.reason === reason
}

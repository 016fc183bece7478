import { isDeterminer, isFunctionWord } from './lexicon.ts'
import type { Lexicon } from './lexicon.ts'
import { singular } from './singular.ts'
import type { Token } from './tokens.ts'

/** A phrase that may become a tag, with what its occurrences in the text tell about it. */
export type Candidate = {
  readonly phrase: string
  /** How late it comes first: 0 at the beginning, near 1 at the end of a long text. */
  readonly position: number
  readonly occurrences: number
  /** Occurrences after a determiner: the screen, a new screen. */
  readonly determined: number
  /** Occurrences where a verb is expected: I screen. */
  readonly verbal: number
}

const MAX_WORDS = 3
/** A shorter text counts as this long, so that hardly a word in it is late. */
const SHORT_TEXT_TOKENS = 60
const MIN_UNLISTED_CHARACTERS = 4
const MAX_UNLISTED_CHARACTERS = 24

/** Endings of adverbs, participles and inflected verbs. */
const NOT_NOUN: Record<string, RegExp> = {
  es: /(?:mente|ando|iendo|ado|ido|amos|aron|ieron)$/,
  fr: /(?:ement|amment|emment|ait|aient|ez|ons)$/,
  pt: /(?:mente|ando|endo|indo|ado|ido|amos|aram|eram)$/,
  it: /(?:mente|ando|endo|iamo|avano|evano)$/,
}
const SENSELESS = /^[^aeiouyàáâãäåæèéêëìíîïòóôõöùúûü]+$|(.)\1\1/

type Phrase = { readonly text: string; readonly at: number }

/** The noun-like phrases of a text, in the order of their first occurrences. */
export function findCandidates(tokens: readonly Token[], lexicon: Lexicon): Candidate[] {
  const found = new Map<string, Candidate>()
  for (const { text, at } of findPhrases(tokens, lexicon)) {
    const before = found.get(text)
    found.set(text, {
      phrase: text,
      position: before?.position ?? at / Math.max(tokens.length, SHORT_TEXT_TOKENS),
      occurrences: (before?.occurrences ?? 0) + 1,
      determined: (before?.determined ?? 0) + (isDetermined(tokens, at, lexicon) ? 1 : 0),
      verbal: (before?.verbal ?? 0) + (isVerbal(tokens, at, lexicon) ? 1 : 0),
    })
  }
  const candidates = [...found.values()]
  // In scripts without capitals a name looks like any word; one that matters to a feedback is said again.
  return lexicon.language === 'segmented' ? candidates.filter(({ occurrences }) => occurrences > 1) : candidates
}

/** With a list of nouns only listed ones count (others are right in 4 of 100 cases); without, a determiner has to tell. */
function findPhrases(tokens: readonly Token[], lexicon: Lexicon): Phrase[] {
  if (lexicon.language === 'segmented') return segmentPhrases(tokens, lexicon)
  return lexicon.nouns.size > 0 ? listedPhrases(tokens, lexicon) : determinedPhrases(tokens, lexicon)
}

/** Backwards, since an English noun comes last in its phrase: `battery life`, `dark mode`. */
function listedPhrases(tokens: readonly Token[], lexicon: Lexicon): Phrase[] {
  const phrases: Phrase[] = []
  let end = tokens.length
  while (end > 0) {
    let start = end - 1
    if (isListedNoun(tokens, start, lexicon)) {
      while (end - start < MAX_WORDS && isListedNounOrModifier(tokens, start - 1, lexicon)) start--
      const words = tokens.slice(start, end).map(wordOf)
      phrases.push({ text: [...words.slice(0, -1), singular(words.at(-1) ?? '')].join(' '), at: start })
    }
    end = start
  }
  return phrases.toReversed()
}

function isListedNoun(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  const word = wordOf(tokens[at])
  if (!lexicon.nouns.has(word) && !lexicon.nouns.has(singular(word))) return false
  // Some are verbs more often than nouns: they charge, the charge.
  return !lexicon.filler.has(word) || isDetermined(tokens, at, lexicon)
}

function isListedNounOrModifier(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  return lexicon.modifiers.has(wordOf(tokens[at])) || isListedNoun(tokens, at, lexicon)
}

function determinedPhrases(tokens: readonly Token[], lexicon: Lexicon): Phrase[] {
  return tokens.flatMap((token, at) => {
    if (token.kind !== 'word' || !isDeterminer(lexicon, tokens[at - 1])) return []
    const { text } = token
    if (isFunctionWord(lexicon, text) || lexicon.filler.has(text) || SENSELESS.test(text)) return []
    if (text.length < MIN_UNLISTED_CHARACTERS || text.length > MAX_UNLISTED_CHARACTERS) return []
    if (lexicon.language === 'de' && !token.isCapitalised) return []
    return NOT_NOUN[lexicon.language]?.test(text) === true ? [] : [{ text, at }]
  })
}

/** Hiragana alone is grammar, and single characters are what a dictionary leaves of an unknown name. */
function segmentPhrases(tokens: readonly Token[], lexicon: Lexicon): Phrase[] {
  return tokens.flatMap((token, at) => {
    if (token.kind !== 'segment' || token.text.length < 2 || lexicon.stop.has(token.text)) return []
    return /^\p{Script=Hiragana}+$/u.test(token.text) ? [] : [{ text: token.text, at }]
  })
}

function isDetermined(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  if (isDeterminer(lexicon, tokens[at - 1])) return true
  // One word of praise or blame may stand between: the great screen.
  return lexicon.filler.has(wordOf(tokens[at - 1])) && isDeterminer(lexicon, tokens[at - 2])
}

function isVerbal(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  return lexicon.beforeVerbs.has(wordOf(tokens[at - 1]))
}

function wordOf(token: Token | undefined): string {
  return token?.kind === 'word' ? token.text : ''
}

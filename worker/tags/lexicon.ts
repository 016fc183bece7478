import de from './data/de.json' with { type: 'json' }
import en from './data/en.json' with { type: 'json' }
import es from './data/es.json' with { type: 'json' }
import fr from './data/fr.json' with { type: 'json' }
import it from './data/it.json' with { type: 'json' }
import nl from './data/nl.json' with { type: 'json' }
import pt from './data/pt.json' with { type: 'json' }
import segmented from './data/segmented.json' with { type: 'json' }
import type { Token } from './tokens.ts'

/** What is known about the words of one language; data/ORIGIN.md says what the groups mean. */
export type Lexicon = {
  readonly language: string
  readonly letters: string
  readonly determiners: ReadonlySet<string>
  readonly beforeVerbs: ReadonlySet<string>
  readonly stop: ReadonlySet<string>
  readonly filler: ReadonlySet<string>
  readonly modifiers: ReadonlySet<string>
  readonly nouns: ReadonlySet<string>
}

/** Below this share of function words a longer text is in no language that we know. */
const MIN_FUNCTION_WORD_SHARE = 0.15
/** A heading of a few words need not have a function word. */
const MAX_HEADING_WORDS = 6
/** More words than this with letters of another alphabet mean another language. */
const MAX_FOREIGN_WORD_SHARE = 0.1

const ENGLISH = toLexicon('en', en)
const OTHERS = Object.entries({ es, fr, de, pt, it, nl }).map(([language, lists]) => toLexicon(language, lists))
const EMPTY = { letters: '', determiners: [], beforeVerbs: [], stop: [], filler: [], modifiers: [], nouns: [] }
const SEGMENTED = toLexicon('segmented', { ...EMPTY, ...segmented })

type Lists = Record<Exclude<keyof Lexicon, 'language' | 'letters'>, string[]> & { letters: string }

function toLexicon(language: string, lists: Lists): Lexicon {
  return {
    language,
    letters: lists.letters,
    determiners: toSet(lists.determiners),
    beforeVerbs: toSet(lists.beforeVerbs),
    stop: toSet(lists.stop),
    filler: toSet(lists.filler),
    modifiers: toSet(lists.modifiers),
    nouns: toSet(lists.nouns),
  }
}

export function toSet(lines: string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')))
}

/** The language whose function words a text has most of; undefined when it is none that we know. */
export function findLexicon(tokens: readonly Token[]): Lexicon | undefined {
  const words = tokens.flatMap((token) => (token.kind === 'word' ? [token.text] : []))
  const segments = tokens.filter((token) => token.kind === 'segment').length
  if (segments > words.length) return SEGMENTED
  const lexicon = likeliestLexicon(words)
  const known = words.filter((word) => isFunctionWord(lexicon, word)).length
  const foreign = words.filter((word) => hasOtherLetters(lexicon, word)).length
  if (words.length > MAX_HEADING_WORDS && known < words.length * MIN_FUNCTION_WORD_SHARE) return undefined
  return foreign > words.length * MAX_FOREIGN_WORD_SHARE ? undefined : lexicon
}

/** English when nothing tells, as in a heading: `CSV export`. */
function likeliestLexicon(words: readonly string[]): Lexicon {
  let likeliest = { lexicon: ENGLISH, hits: countHits(ENGLISH, words) }
  for (const lexicon of OTHERS) {
    const hits = countHits(lexicon, words)
    if (hits > likeliest.hits) likeliest = { lexicon, hits }
  }
  return likeliest.lexicon
}

/** A determiner counts twice: `o`, `a` and `e` alone would leave Portuguese, Spanish and Italian equal. */
function countHits(lexicon: Lexicon, words: readonly string[]): number {
  let hits = 0
  for (const word of words) {
    if (lexicon.determiners.has(word)) hits += 2
    else if (isFunctionWord(lexicon, word)) hits++
  }
  return hits
}

export function isDeterminer(lexicon: Lexicon, token: Token | undefined): boolean {
  return token?.kind === 'word' && lexicon.determiners.has(token.text)
}

export function isFunctionWord(lexicon: Lexicon, word: string): boolean {
  return lexicon.determiners.has(word) || lexicon.beforeVerbs.has(word) || lexicon.stop.has(word)
}

export function isKnownWord(lexicon: Lexicon, word: string): boolean {
  return (
    isFunctionWord(lexicon, word) || lexicon.filler.has(word) || lexicon.modifiers.has(word) || lexicon.nouns.has(word)
  )
}

function hasOtherLetters(lexicon: Lexicon, word: string): boolean {
  for (const letter of word) {
    if (letter > '\u007f' && !lexicon.letters.includes(letter)) return true
  }
  return false
}

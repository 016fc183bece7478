import cues from './data/name-cues.json' with { type: 'json' }
import { hashInTag, hashTerm, type Memory } from './memory.ts'
import { isFunctionWord, isKnownWord, type Lexicon, traitsOf } from './lexicon.ts'
import { toSet } from './english-words.ts'
import { HIDDEN, type Token } from './tokens.ts'

/** A first name and a family name. */
const MAX_NAMES_AFTER_CUE = 2

const BEFORE = toSet(cues.before)
const BETWEEN = toSet(cues.between)
const STREETS = toSet(cues.streets)
const AFTER_SEGMENTED = toSet(cues.afterSegmented)
const BEFORE_SEGMENTED = toSet(cues.beforeSegmented)

/**
 * Hides possible names beside a cue, such as a greeting, a title or a closing, and the names of
 * streets.
 */
export const hideAfterCues = (tokens: readonly Token[], lexicon: Lexicon): Token[] => {
  let expected = 0
  return tokens.map((token, at) => {
    if (token.kind === 'segment') return isSegmentedName(tokens, at) ? HIDDEN : token
    if (token.kind !== 'word') return token
    if (isStreetName(tokens, at)) return HIDDEN
    if (BEFORE.has(token.text)) {
      expected = MAX_NAMES_AFTER_CUE
      return token
    }
    if (expected === 0 || BETWEEN.has(token.text)) return token
    const isName = token.isCapitalised ? !isFunctionWord(lexicon, token.text) : !isKnownWord(lexicon, token.text)
    expected = isName ? expected - 1 : 0
    return isName ? HIDDEN : token
  })
}

/** Whether a word is between a hidden token and a word for a street: 12 oak street. */
const isStreetName = (tokens: readonly Token[], at: number): boolean => {
  const after = tokens[at + 1]
  if (after?.kind !== 'word' || !STREETS.has(after.text)) return false
  return tokens[at - 1]?.kind === 'hidden' || tokens[at - 2]?.kind === 'hidden'
}

const isSegmentedName = (tokens: readonly Token[], at: number): boolean => {
  const before = tokens[at - 1]
  const after = tokens[at + 1]
  return (
    (before?.kind === 'segment' && BEFORE_SEGMENTED.has(before.text)) ||
    (after?.kind === 'segment' && AFTER_SEGMENTED.has(after.text))
  )
}

/**
 * From this share of capitalised words on, capitals carry no information: the text is a title or in
 * capitals.
 */
const MIN_TITLE_SHARE = 0.6
const MIN_TITLE_WORDS = 3

/** Finds the capitalised words that may be names of people. */
export const findStrange = (tokens: readonly Token[], lexicon: Lexicon): Strange => {
  const common = new Set<string>()
  let words = 0
  let capitalised = 0
  for (const token of tokens) {
    if (token.kind !== 'word') continue
    words++
    if (token.isCapitalised) capitalised++
    else common.add(token.text)
  }
  const isTitle = words >= MIN_TITLE_WORDS && capitalised >= words * MIN_TITLE_SHARE
  const places = new Set<number>()
  if (capitalised === 0) return { isTitle, places }
  tokens.forEach((_, at) => {
    if (isStrange({ tokens, lexicon, common, isTitle }, at)) places.add(at)
  })
  return { isTitle, places }
}

/**
 * The indices of strange words among the tokens. In a title most words are capitalised, so a
 * strange word does not make its neighbours suspicious.
 */
export type Strange = { readonly isTitle: boolean; readonly places: ReadonlySet<number> }

/**
 * Hides strange words, which may be names of people. The price is that new product names are
 * hidden, too.
 */
export const hideStrange = (tokens: readonly Token[], lexicon: Lexicon, { isTitle, places }: Strange): Token[] => {
  if (places.size === 0) return [...tokens]
  return tokens.map((token, at) => {
    if (token.kind !== 'word' || !token.isCapitalised || isFunctionWord(lexicon, token.text)) return token
    if (places.has(at)) return HIDDEN
    // In German every noun is capitalised.
    if (lexicon.language === 'de' || isTitle) return token
    // A capitalised common word next to a name belongs to the name: Mark Miller, Acme Mobile.
    return places.has(at - 1) || places.has(at + 1) ? HIDDEN : token
  })
}

/**
 * The strange words that the workspace does not use. It uses the words of people's tags, and words
 * of several texts, in at least half of them after a determiner.
 */
export const remainingStrange = (
  { tokens, lexicon, strange }: { tokens: readonly Token[]; lexicon: Lexicon; strange: Strange },
  memory: Memory,
): Strange => {
  const places = [...strange.places].filter((at) => {
    const token = tokens[at]
    return token?.kind !== 'word' || !isWorkspaceWord(memory, lexicon, token.text)
  })
  return { isTitle: strange.isTitle, places: new Set(places) }
}

type Judge = {
  readonly tokens: readonly Token[]
  readonly lexicon: Lexicon
  readonly common: ReadonlySet<string>
  readonly isTitle: boolean
}

/** Whether a token is a capitalised word that may be a name. */
const isStrange = ({ tokens, lexicon, common, isTitle }: Judge, at: number): boolean => {
  const token = tokens[at]
  if (token?.kind !== 'word' || !token.isCapitalised) return false
  const { text } = token
  const { isAlsoName, isNotNoun, group } = traitsOf(lexicon, text)
  if (common.has(text) || (isKnownWord(lexicon, text) && !isAlsoName)) return false
  const isDetermined = isAfterDeterminer(tokens, at, lexicon)
  // In German, names can have an article, too: die Anna.
  if (isAlsoName) return !isDetermined || lexicon.language === 'de'
  if (lexicon.language === 'de') return !isDetermined
  // Abbreviations of a few letters: the GUI.
  if (token.isUpper && !isTitle && text.length <= MAX_ABBREVIATION_CHARACTERS && isDetermined) return false
  const isOrdinary = group >= 0 || isNotNoun
  const isStart = tokens[at - 1]?.kind !== 'word'
  return !(isOrdinary && (isStart || isTitle || isDetermined))
}

const MAX_ABBREVIATION_CHARACTERS = 5
/** A capitalised word in fewer texts of a workspace may be a person's name. */
const MIN_TEXTS_OF_WORKSPACE_WORD = 4

const isWorkspaceWord = (memory: Memory, lexicon: Lexicon, word: string): boolean => {
  const { stem: key } = traitsOf(lexicon, word)
  if ((memory.terms.get(hashInTag(key))?.given ?? 0) > 0) return true
  const counts = memory.terms.get(hashTerm(key))
  return counts !== undefined && counts.texts >= MIN_TEXTS_OF_WORKSPACE_WORD && counts.determined >= counts.texts / 2
}

export const isAfterDeterminer = (tokens: readonly Token[], at: number, lexicon: Lexicon): boolean => {
  const before = tokens[at - 1]
  return before?.kind === 'word' && lexicon.determiners.has(before.text)
}

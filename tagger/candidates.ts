import { canBeTag, isDoubtful } from './can-be-tag.ts'
import type { Candidate } from './candidate.ts'
import { findAction, findFailure, findInverted, findLoneEvent, range, type Rearranged } from './events.ts'
import { englishWords } from './english-words.ts'
import { hashTerm } from './memory.ts'
import { isAside, isDenied, isFailing, isLeading, isLocated, isInsideLonger } from './clause.ts'
import type { Lexicon, WordTraits } from './lexicon.ts'
import { canBeEdge, type Reading, type TextSpan, wordAt } from './reading.ts'
import { singular } from './word-endings.ts'

const MAX_WORDS = 3
/**
 * Positions in a shorter text are relative to this length, so that the last words of a very short
 * text hardly count as late.
 */
const SHORT_TEXT_TOKENS = 60
/** The greatest distance in words from the word of a request to the phrase. */
const REQUEST_REACH = 4

/** The phrases of one to three words by key, in the order of their first occurrences. */
export const findCandidates = (reading: Reading): Map<string, Candidate> => {
  const found = new Map<string, Candidate>()
  for (let start = 0; start < reading.tokens.length; start++) {
    if (!canBeEdge(reading.traits[start])) continue
    addPhrases(found, reading, start)
    if (reading.lexicon.language !== 'en') continue
    addRearranged(found, reading, findInverted(reading, start))
    addRearranged(found, reading, findFailure(reading, start))
    addRearranged(found, reading, findLoneEvent(reading, start))
    addRearranged(found, reading, findAction(reading, start))
  }
  return found
}

const addPhrases = (found: Map<string, Candidate>, reading: Reading, start: number): void => {
  for (let length = 1; length <= MAX_WORDS; length++) {
    const end = start + length
    const last = reading.traits[end - 1]
    if (last === undefined) return
    if (!canBeEdge(last)) {
      // A word that may not end a phrase may be inside if it is a joiner such as `of`.
      if (length !== 2 || !last.isJoiner) return
      continue
    }
    addOccurrence(found, reading, { start, end })
  }
}

const addOccurrence = (found: Map<string, Candidate>, reading: Reading, span: TextSpan): void => {
  const { start, end } = span
  const key = keyOfSpan(reading, span)
  let candidate = found.get(key)
  if (candidate === undefined) {
    candidate = newCandidate(reading, { key, order: range(start, end), at: start })
    found.set(key, candidate)
  }
  count(candidate, reading, span)
}

const addRearranged = (found: Map<string, Candidate>, reading: Reading, phrase: Rearranged | undefined): void => {
  if (phrase === undefined) return
  const { order, end, isEvent } = phrase
  const at = Math.min(...order)
  const key = order.map((place) => reading.traits[place]?.stem ?? '').join(' ')
  let candidate = found.get(key)
  if (candidate === undefined) {
    candidate = newCandidate(reading, { key, order, at, isInverted: !isEvent })
    found.set(key, candidate)
  }
  candidate.isOpen = true
  if (isEvent) candidate.joined++
  // `addPhrases` has already counted a phrase in the order of the text, such as `card declined`.
  if (order.length > 1 && (order[0] !== at || end > at + 2)) count(candidate, reading, { start: at, end })
}

const keyOfSpan = ({ traits }: Reading, { start, end }: TextSpan): string => {
  let key = traits[start]?.stem ?? ''
  for (let at = start + 1; at < end; at++) key += ` ${traits[at]?.stem ?? ''}`
  return key
}

type New = {
  readonly key: string
  readonly order: readonly number[]
  readonly at: number
  readonly isInverted?: boolean
}

const newCandidate = (reading: Reading, { key, order, at, isInverted = false }: New): Candidate => {
  const { traits, words } = wordsOf(reading, order)
  const compound = findCompound(reading.lexicon, words)
  return {
    key,
    hash: hashTerm(key),
    words,
    traits,
    stems: traits.map(({ stem }) => stem),
    at,
    position: at / Math.max(reading.tokens.length, SHORT_TEXT_TOKENS),
    isOpen: false,
    isDoubtful: false,
    occurrences: 0,
    determined: 0,
    verbal: 0,
    free: 0,
    praised: 0,
    described: 0,
    related: 0,
    requested: 0,
    starting: 0,
    joined: 0,
    events: 0,
    opinionated: 0,
    leading: 0,
    failing: 0,
    denied: 0,
    aside: 0,
    located: 0,
    isCompound: compound !== undefined,
    isNamed: compound === 'named',
    isInverted,
  }
}

const wordsOf = (reading: Reading, order: readonly number[]): { traits: WordTraits[]; words: string[] } => {
  const traits: WordTraits[] = []
  const words: string[] = []
  for (const place of order) {
    const known = reading.traits[place]
    if (known === undefined) continue
    traits.push(known)
    words.push(wordAt(reading, place))
  }
  return { traits, words }
}

/**
 * In English, the hand-written list has `named` phrases, and the dictionary has `listed` phrases.
 * In any other language, the hand-written list has `listed` phrases.
 */
const findCompound = ({ language, compounds }: Lexicon, words: readonly string[]): 'named' | 'listed' | undefined => {
  if (words.length < 2) return undefined
  if (language !== 'en') return compounds.has(words.join(' ')) ? 'listed' : undefined
  const phrase = [...words.slice(0, -1), singular(words.at(-1) ?? '')].join(' ')
  if (compounds.has(phrase)) return 'named'
  return words.length === 2 && englishWords().compounds.has(phrase) ? 'listed' : undefined
}

const count = (candidate: Candidate, reading: Reading, span: TextSpan): void => {
  const { start, end } = span
  const { traits } = reading
  const before = traits[start - 1]
  const isPraised = before !== undefined && (before.isFiller || before.isNotNoun) && !before.isStop
  const isDetermined = before?.isDeterminer === true || (isPraised && traits[start - 2]?.isDeterminer === true)
  candidate.occurrences++
  if (isDetermined) candidate.determined++
  if (before?.isBeforeVerb === true) candidate.verbal++
  if (isPraised) candidate.praised++
  if (before === undefined) candidate.starting++
  if (before?.isStop === true && !before.isDeterminer && !before.isBeforeVerb) candidate.related++
  if (traits[end]?.isBe === true) candidate.described++
  if (isRequested(reading, start)) candidate.requested++
  if (reading.isNearOpinion[end - 1] === true || reading.isNearOpinion[start] === true) candidate.opinionated++
  if (hasEvent(reading, span)) candidate.events++
  if (isLeading(reading, start)) candidate.leading++
  if (isFailing(reading, end)) candidate.failing++
  if (isDenied(reading, start)) candidate.denied++
  if (isAside(reading, start)) candidate.aside++
  if (isLocated(reading, start)) candidate.located++
  if (!candidate.isOpen && (candidate.isCompound || canBeTag(reading, span, isDetermined))) {
    candidate.isDoubtful = !candidate.isCompound && isDoubtful(reading, span, isDetermined)
    candidate.isOpen = !candidate.isDoubtful
  }
  if (!isInsideLonger(reading, span)) candidate.free++
}

const isRequested = ({ traits }: Reading, start: number): boolean => {
  for (let at = start - 1; at >= Math.max(0, start - REQUEST_REACH); at--) {
    const before = traits[at]
    if (before === undefined) return false
    if (before.isRequest) return true
  }
  return false
}

const hasEvent = ({ tokens }: Reading, { start, end }: TextSpan): boolean => {
  for (let at = start; at < end; at++) {
    const token = tokens[at]
    if (token?.kind === 'word' && token.isEvent === true) return true
  }
  return false
}

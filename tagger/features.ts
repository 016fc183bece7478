import type { Candidate } from './candidate.ts'
import { hashTerm, type Memory, NOTHING } from './memory.ts'
import { GROUPS } from './english-words.ts'
import type { WordTraits } from './lexicon.ts'
import { isHeadFirst, type Reading } from './reading.ts'

/**
 * The features of a candidate, in this order. `tagger/data/weights.json` has their weights by name.
 */
export const FEATURES = [
  'always',
  'listed',
  'unlisted',
  ...GROUPS.map((name) => `group ${name}` as const),
  'mostly verb',
  'mostly adjective',
  'frequent',
  'filler',
  'modifier listed',
  'modifier known',
  'modifier adjective',
  'modifier unlisted',
  'joiner inside',
  'compound',
  'named',
  'inverted',
  'two words',
  'three words',
  'late',
  'first words',
  'again',
  'determined',
  'verbal',
  'praised',
  'described',
  'related',
  'requested',
  'opinion near',
  'event',
  'joined event',
  'starting',
  'nested',
  'bare',
  'long text',
  'leading',
  'failing',
  'denied',
  'aside',
  'located',
  'memory weight',
  'remembered log',
  'share of texts',
  'remembered determined',
  'remembered free',
  'remembered valued',
  'remembered with head',
  'remembered with modifier',
  'common and described',
  'common and praised',
  'common and near opinion',
  'common and determined',
  'common and again',
] as const

/** The features from `memory weight` on need the memory. */
const MEMORY_FEATURE_COUNT = FEATURES.length - FEATURES.indexOf('memory weight')
/** A text names its subject early. */
const FIRST_TOKENS = 10
/** A memory of this many texts has half of its full weight. */
const HALF_BELIEVED_TEXTS = 15

/** The context of a candidate: its text and the memory of its workspace. */
type Context = { readonly reading: Reading; readonly memory: Memory }

/**
 * Writes the values of FEATURES for one candidate into `values`. The caller reuses the array, since
 * this runs very often.
 */
export const measure = (candidate: Candidate, context: Context, values: number[]): void => {
  values.length = 0
  values.push(1)
  pushWords(values, candidate, context.reading)
  pushPlaces(values, candidate, context.reading)
  pushMemory(values, candidate, context)
}

const pushWords = (
  values: number[],
  { traits, words, isCompound, isInverted, isNamed }: Candidate,
  reading: Reading,
): void => {
  const head = traits[isHeadFirst(reading.lexicon) ? 0 : traits.length - 1]
  if (head === undefined) return
  values.push(toNumber(head.isListed), toNumber(!head.isListed && head.group < 0))
  for (let group = 0; group < GROUPS.length; group++) values.push(toNumber(head.group === group))
  values.push(toNumber(head.isMostlyVerb), toNumber(head.isMostlyAdjective), toNumber(head.isFrequent))
  values.push(toNumber(head.isFiller))
  pushModifiers(values, traits, head)
  values.push(toNumber(isCompound), toNumber(isNamed), toNumber(isInverted))
  values.push(toNumber(words.length === 2), toNumber(words.length === 3))
}

const pushModifiers = (values: number[], traits: readonly WordTraits[], head: WordTraits): void => {
  let [listed, modifier, adjective, unlisted, joiner] = [0, 0, 0, 0, 0]
  for (const part of traits) {
    if (part.isJoiner) joiner = 1
    else if (part !== head) {
      if (part.isListed) listed = 1
      if (part.isModifier) modifier = 1
      if (part.isAdjective || (part.isParticiple && part.isNotNoun)) adjective = 1
      if (!part.isListed && !part.isModifier && part.group < 0 && !part.isAdjective) unlisted = 1
    }
  }
  values.push(listed, modifier, adjective, unlisted, joiner)
}

const toNumber = (is: boolean): number => (is ? 1 : 0)

const pushPlaces = (values: number[], candidate: Candidate, { tokens }: Reading): void => {
  const { occurrences } = candidate
  values.push(candidate.position, toNumber(candidate.at < FIRST_TOKENS), Math.log2(occurrences))
  values.push(toNumber(candidate.determined > 0), candidate.verbal / occurrences)
  values.push(toNumber(candidate.praised > 0), toNumber(candidate.described > 0), toNumber(candidate.related > 0))
  values.push(toNumber(candidate.requested > 0), toNumber(candidate.opinionated > 0))
  values.push(candidate.events / occurrences, toNumber(candidate.joined > 0), toNumber(candidate.starting > 0))
  values.push(1 - candidate.free / occurrences, toNumber(isBare(candidate)), Math.log2(1 + tokens.length / 20))
  values.push(toNumber(candidate.leading > 0), toNumber(candidate.failing > 0), toNumber(candidate.denied > 0))
  values.push(candidate.aside / occurrences, candidate.located / occurrences)
}

/** Whether the phrase has no listed word, and never stands after a determiner. */
const isBare = ({ determined, traits }: Candidate): boolean => {
  if (determined > 0) return false
  for (const part of traits) if (part.isListed) return false
  return true
}

const pushMemory = (values: number[], candidate: Candidate, { reading, memory }: Context): void => {
  if (memory.texts === 0) {
    for (let at = 0; at < MEMORY_FEATURE_COUNT; at++) values.push(0)
    return
  }
  const belief = memory.texts / (memory.texts + HALF_BELIEVED_TEXTS)
  const { texts, determined, free, valued } = memory.terms.get(candidate.hash) ?? NOTHING
  values.push(belief, belief * Math.log2(1 + texts), belief * Math.sqrt(texts / memory.texts))
  values.push(belief * ((determined + 0.3) / (texts + 1)))
  values.push(belief * ((free + 0.5) / (texts + 1)), belief * ((valued + 0.4) / (texts + 1)))
  if (candidate.words.length < 2) {
    values.push(0, 0)
  } else {
    const { stems } = candidate
    const first = isHeadFirst(reading.lexicon)
    values.push(belief * shareOf(memory, stems[first ? 0 : stems.length - 1], texts))
    values.push(belief * shareOf(memory, stems[first ? stems.length - 1 : 0], texts))
  }
  const common = belief * Math.sqrt(texts / memory.texts)
  values.push(common * toNumber(candidate.described > 0), common * toNumber(candidate.praised > 0))
  values.push(common * toNumber(candidate.opinionated > 0), common * toNumber(candidate.determined > 0))
  values.push(common * Math.log2(candidate.occurrences))
}

/** The share of the texts with this word that have the whole phrase. */
const shareOf = (memory: Memory, stem: string | undefined, texts: number): number => {
  const withStem = memory.terms.get(hashTerm(stem ?? ''))?.texts ?? 0
  return Math.min(1, (texts + 0.2) / (withStem + 1))
}

/**
 * The features of a candidate once people have tagged texts of the workspace.
 * `tagger/data/weights.json` has their weights in `people`.
 */
export const PEOPLE_FEATURES = [
  'always',
  'score',
  'closed',
  'odds',
  'given',
  'always given',
  'phrase always given',
  'seldom judged',
  'never given',
  'left out',
  'again',
  'nested',
  'opinion near',
  'described',
  'praised',
  'determined',
  'starting',
  'verbal',
  'tags of a text',
] as const

/** A term counts as always given if people gave it to this share of the judged texts that contain it. */
const ALWAYS_GIVEN_SHARE = 0.8

/** A term that people never gave is fully unwanted once they judged this many texts that contain it. */
const LEFT_OUT_TEXTS = 10

/**
 * The values of PEOPLE_FEATURES. `score` comes from FEATURES and their weights; it is undefined for
 * a candidate that is scored only because it is a tag in use.
 */
export const measurePeople = (candidate: Candidate, memory: Memory, score: number | undefined): number[] => {
  const { judged, given } = memory.terms.get(candidate.hash) ?? NOTHING
  const isAlwaysGiven = given > 0 && given >= ALWAYS_GIVEN_SHARE * judged
  return [
    1,
    score ?? 0,
    score === undefined ? 1 : 0,
    Math.log((given + 0.3) / (Math.max(0, judged - given) + 0.7)),
    given > 0 ? 1 : 0,
    isAlwaysGiven && candidate.stems.length === 1 ? 1 : 0,
    isAlwaysGiven && candidate.stems.length > 1 ? 1 : 0,
    1 / (1 + judged),
    given === 0 ? 1 : 0,
    given === 0 ? Math.min(1, judged / LEFT_OUT_TEXTS) ** 2 : 0,
    Math.log2(candidate.occurrences),
    1 - candidate.free / candidate.occurrences,
    candidate.opinionated > 0 ? 1 : 0,
    candidate.described > 0 ? 1 : 0,
    candidate.praised > 0 ? 1 : 0,
    candidate.determined > 0 ? 1 : 0,
    candidate.starting > 0 ? 1 : 0,
    candidate.verbal / candidate.occurrences,
    Math.log((memory.given + 1) / (memory.judged + 1)),
  ]
}

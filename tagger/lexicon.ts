import { atFirstUse } from '../runtime/at-first-use.ts'
import ar from './data/ar.json' with { type: 'json' }
import de from './data/de.json' with { type: 'json' }
import en from './data/en.json' with { type: 'json' }
import es from './data/es.json' with { type: 'json' }
import fr from './data/fr.json' with { type: 'json' }
import it from './data/it.json' with { type: 'json' }
import nl from './data/nl.json' with { type: 'json' }
import pl from './data/pl.json' with { type: 'json' }
import pt from './data/pt.json' with { type: 'json' }
import ru from './data/ru.json' with { type: 'json' }
import cues from './data/name-cues.json' with { type: 'json' }
import segmented from './data/segmented.json' with { type: 'json' }
import tr from './data/tr.json' with { type: 'json' }
import { englishWords, toSet } from './english-words.ts'
import { singular, isEnglishAdjective, isNoNoun, isSenseless } from './word-endings.ts'
import { stem } from './stems.ts'

/** The lists of words in the file of a language. data/ORIGIN.md explains them. */
const LISTS = [
  'determiners',
  'beforeVerbs',
  'stop',
  'filler',
  'modifiers',
  'joiners',
  'requests',
  'opinions',
  'troubles',
  'asides',
  'places',
  // Last characters of nouns in Han script. `stop` has the exceptions.
  'nounEndings',
  'nouns',
] as const
type ListName = (typeof LISTS)[number]
type Lists = Partial<Record<ListName, string[]>> & { compounds?: string[] }

/** The known words of one language. */
export type Lexicon = Readonly<Record<ListName, ReadonlySet<string>>> & {
  readonly language: string
  /** Phrases for one thing, in unstemmed words. */
  readonly compounds: ReadonlySet<string>
  /** The label of a listed noun by its stem: the first form in the list. */
  readonly forms: () => ReadonlyMap<string, string>
  readonly cachedTraits: Map<string, WordTraits>
}

/**
 * The traits of a word. `group` is the index in GROUPS, or -1 for a word that the English dictionary
 * does not have as a noun, and for all words of other languages.
 */
export type WordTraits = {
  readonly stem: string
  readonly isStop: boolean
  readonly isDeterminer: boolean
  readonly isBeforeVerb: boolean
  readonly isFiller: boolean
  readonly isListed: boolean
  readonly isModifier: boolean
  readonly isJoiner: boolean
  readonly isRequest: boolean
  /** A word of praise or blame. */
  readonly isOpinion: boolean
  /** A word of failure or negation. */
  readonly isTrouble: boolean
  /** A word that introduces circumstances: when, although. */
  readonly isAside: boolean
  /** A preposition of place. */
  readonly isPlace: boolean
  readonly isMostlyVerb: boolean
  readonly isMostlyAdjective: boolean
  readonly isFrequent: boolean
  /** The word is also a person's name: grace. */
  readonly isAlsoName: boolean
  /** A verb, adjective, adverb or participle, by a list or by its ending. */
  readonly isNotNoun: boolean
  readonly isAdjective: boolean
  /** The word may describe a noun: scanned, operating. */
  readonly isParticiple: boolean
  readonly isSenseless: boolean
  /** A verb between a noun and its description: is, has. */
  readonly isBe: boolean
  readonly group: number
}

const MAX_CACHED_WORDS = 20_000

const BE = new Set(
  [
    "is are was were isn't aren't wasn't weren't has does doesn't don't es son era está están estaba est sont était ist war",
    'sind waren é são era foi è sono is zijn was waren',
  ].flatMap((line) => line.split(' ')),
)
/** Frequent given and family names. Many are also common words. */
const ALSO_NAMES = toSet(cues.commonNames)

const toLexicon = (language: string, lists: Lists): Lexicon => {
  const setOf = (name: ListName): [ListName, ReadonlySet<string>] => [name, toSet(lists[name] ?? [])]
  const sets = Object.fromEntries(LISTS.map(setOf)) as Record<ListName, ReadonlySet<string>>
  const nouns = [...sets.nouns]
  return {
    ...sets,
    language,
    compounds: new Set(lists.compounds),
    forms: atFirstUse(() => new Map(nouns.toReversed().map((noun) => [stem(noun, language), noun]))),
    cachedTraits: new Map(),
  }
}

export const ENGLISH = toLexicon('en', en)
export const LATIN: readonly Lexicon[] = [
  ENGLISH,
  ...Object.entries({ es, fr, de, pt, it, nl, pl, tr }).map(([language, lists]) => toLexicon(language, lists)),
]
export const RUSSIAN = toLexicon('ru', ru)
export const ARABIC = toLexicon('ar', ar)
/** For Chinese, Japanese and Thai together. */
export const SEGMENTED = toLexicon('segmented', segmented)
/** For languages without lists. A text in such a language gets only tags in use. */
export const UNKNOWN = toLexicon('unknown', {})

/** The traits of a word in lower case. They are cached, since words repeat. */
export const traitsOf = (lexicon: Lexicon, word: string): WordTraits => {
  const known = lexicon.cachedTraits.get(word)
  if (known !== undefined) return known
  if (lexicon.cachedTraits.size >= MAX_CACHED_WORDS) lexicon.cachedTraits.clear()
  const traits = findTraits(lexicon, word)
  lexicon.cachedTraits.set(word, traits)
  return traits
}

const findTraits = (lexicon: Lexicon, word: string): WordTraits => {
  const isEnglish = lexicon.language === 'en'
  const english = englishWords()
  const lemma = isEnglish ? singular(word) : word
  const wordStem = stem(word, lexicon.language)
  const isListed = isEnglish
    ? lexicon.nouns.has(word) || lexicon.nouns.has(lemma)
    : lexicon.nouns.has(word) ||
      hasNounEnding(lexicon, word) ||
      (word.length > 3 && lexicon.forms().has(wordStem) && !isNoNoun(lexicon.language, word))
  const group = isEnglish ? (english.groupOf.get(lemma) ?? english.groupOf.get(word) ?? -1) : -1
  const isAdjective = isEnglish && group < 0 && !isListed && isEnglishAdjective(word)
  return {
    stem: wordStem,
    isStop: isFunctionWord(lexicon, word),
    isDeterminer: lexicon.determiners.has(word),
    isBeforeVerb: lexicon.beforeVerbs.has(word),
    isFiller: lexicon.filler.has(word),
    isListed,
    isModifier: lexicon.modifiers.has(word),
    isJoiner: lexicon.joiners.has(word),
    isRequest: lexicon.requests.has(word),
    isOpinion: lexicon.opinions.has(word),
    isTrouble: lexicon.troubles.has(word),
    isAside: lexicon.asides.has(word),
    isPlace: lexicon.places.has(word),
    isMostlyVerb: isEnglish && english.mostlyVerbs.has(lemma),
    isMostlyAdjective: isEnglish && english.mostlyAdjectives.has(lemma),
    isFrequent: isEnglish && english.frequent.has(lemma),
    isAlsoName: ALSO_NAMES.has(word) && (isEnglish || !lexicon.nouns.has(word)),
    isNotNoun: isAdjective || (group < 0 && !isListed && isNoNoun(lexicon.language, word)),
    isAdjective,
    isParticiple: isEnglish && group < 0 && /.{3}(?:ed|ing)$/.test(word),
    isSenseless: !isListed && isSenseless(lexicon.language, word),
    isBe: BE.has(word),
    group,
  }
}

const HAN_WORD = /^\p{Script=Han}{2,4}$/u

const hasNounEnding = ({ nounEndings, stop }: Lexicon, word: string): boolean =>
  nounEndings.has(word.slice(-1)) && !stop.has(word) && HAN_WORD.test(word)

export const isFunctionWord = (lexicon: Lexicon, word: string): boolean =>
  lexicon.determiners.has(word) || lexicon.beforeVerbs.has(word) || lexicon.stop.has(word)

/**
 * Whether a hand-written list has the word as a function word, filler, modifier or noun. The
 * English dictionary has too many names for this check.
 */
export const isKnownWord = (lexicon: Lexicon, word: string): boolean => {
  const { isStop, isFiller, isModifier, isListed } = traitsOf(lexicon, word)
  return isStop || isFiller || isModifier || isListed
}

import { type Lexicon, UNKNOWN, type WordTraits } from './lexicon.ts'
import { isHeadFirst, type Reading, type TextSpan, wordAt } from './reading.ts'
import { singular } from './word-endings.ts'

const WITH_ARTICLES = new Set(['en', 'es', 'fr', 'de', 'pt', 'it', 'nl', 'ar'])
/** The least characters of a head that is in no list. In German, its capital decides instead. */
const MIN_UNLISTED_HEAD_CHARACTERS = 4

/** Whether a phrase looks like a noun with its modifiers. The score says how good a tag it is. */
export const canBeTag = (reading: Reading, { start, end }: TextSpan, isDetermined: boolean): boolean => {
  const { traits, lexicon } = reading
  if (lexicon === UNKNOWN) return false
  const headAt = isHeadFirst(lexicon) ? start : end - 1
  const head = traits[headAt]
  if (head === undefined || !canBeHead(reading, { head, at: headAt }, isDetermined)) return false
  for (let at = start; at < end; at++) {
    const part = traits[at]
    if (part === undefined || part === head) continue
    if (part.isJoiner) {
      if (lexicon.language === 'en' && wordAt(reading, at) !== 'of') return false
      if (!isNounPart(traits[start]) || !isNounPart(traits[end - 1])) return false
    } else if (!canBePart(lexicon, part)) return false
  }
  if (lexicon.language === 'en' && end - start > 1 && hasVerb(reading, { start, end })) return false
  return end - start === 1 || isPhrase(reading, { start, end })
}

/**
 * Whether a word of an English phrase is probably a verb, such as `covers` in `the chat widget
 * covers the button`, or `typing` in `typing lunch` at the beginning of a clause.
 */
const hasVerb = (reading: Reading, { start, end }: TextSpan): boolean => {
  const { traits } = reading
  for (let at = start + 1; at < end; at++) {
    const isLast = at === end - 1
    if (!mayBeVerb(traits[at], wordAt(reading, at))) continue
    if (!isLast || traits[end]?.isDeterminer === true) return true
  }
  const first = traits[start]
  const isGerund = first?.isParticiple === true && !first.isListed && wordAt(reading, start).endsWith('ing')
  return isGerund && traits[start - 1] === undefined
}

/** Whether a word in no list of topics of feedback ends in -s, as a verb or a plural does. */
const mayBeVerb = (part: WordTraits | undefined, word: string): boolean =>
  part !== undefined && !part.isListed && word.endsWith('s') && singular(word) !== word

/**
 * Whether a phrase that can be a tag may still be a name or a typing error. Only languages with
 * articles have doubtful phrases.
 */
export const isDoubtful = (reading: Reading, { start, end }: TextSpan, isDetermined: boolean): boolean => {
  const { traits, lexicon } = reading
  const head = traits[isHeadFirst(lexicon) ? start : end - 1]
  if (head === undefined || !WITH_ARTICLES.has(lexicon.language)) return false
  const isEnglish = lexicon.language === 'en'
  if (isEnglish && traits.slice(start, end).some((part) => part !== head && isUnknown(part))) return true
  if (head.isListed) return false
  if (lexicon.language === 'ar') return !wordAt(reading, start).startsWith('ال')
  return (head.isAlsoName && end - start === 1) || (head.group < 0 && !isDetermined)
}

/** Whether a word before the noun is unknown, such as `tolvane` in `the tolvane invoice`. */
const isUnknown = (part: WordTraits | undefined): boolean => {
  if (part === undefined || part.isListed || part.isModifier || part.isJoiner) return false
  return part.group < 0 && !part.isNotNoun
}

const isNounPart = (traits: WordTraits | undefined): boolean =>
  traits !== undefined && !traits.isFiller && !traits.isNotNoun

type Head = { readonly head: WordTraits; readonly at: number }

const canBeHead = ({ lexicon, tokens }: Reading, { head, at }: Head, isDetermined: boolean): boolean => {
  if (head.isStop || head.isSenseless || head.isNotNoun) return false
  if (head.isFiller) return head.isListed && isDetermined
  if (head.isListed || head.group >= 0) return true
  const token = tokens[at]
  if (lexicon.language === 'de') return token?.kind === 'word' && token.isCapitalised
  return token?.kind === 'word' && token.text.length >= MIN_UNLISTED_HEAD_CHARACTERS
}

const canBePart = (lexicon: Lexicon, part: WordTraits): boolean => {
  if (part.isStop || part.isSenseless || part.isFiller) return false
  if (part.isModifier || part.isListed || part.group >= 0) return true
  return lexicon.language === 'en' ? part.isAdjective || part.isParticiple || !part.isNotNoun : !part.isNotNoun
}

/**
 * Whether several words can be a phrase. In English, a dictionary has already told nouns from
 * adjectives. In German, all words must be capitalised. In scripts without spaces, all must be
 * known nouns. In any other language, at least one word must be a known noun.
 */
const isPhrase = ({ traits, tokens, lexicon }: Reading, { start, end }: TextSpan): boolean => {
  if (lexicon.language === 'en') return true
  let listed = 0
  let capitalised = 0
  for (let at = start; at < end; at++) {
    const token = tokens[at]
    if (traits[at]?.isListed === true) listed++
    if (token?.kind === 'word' && token.isCapitalised) capitalised++
  }
  if (lexicon.language === 'de') return capitalised === end - start
  if (lexicon.language === 'segmented') return listed === end - start
  return listed > 0
}

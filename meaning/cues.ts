import type { Analysis } from '../tagger/generate-tags.ts'
import { traitsOf } from '../tagger/lexicon.ts'
import { hashTerm } from '../tagger/memory.ts'
import { isNegation, languageOf } from './opinions.ts'

/** A longer text would fill the memory alone. */
const MOST_CUES = 250
const NEGATION_REACH = 3

/**
 * The hashes by which a workspace's ratings and corrections teach mood and kind: stems with whether a
 * negation stands before them, and pairs of stems. They include function words, unlike terms.
 */
export const cuesOf = (analysis: Analysis): number[] => {
  const language = languageOf(analysis)
  const { lexicon } = analysis.reading
  const cues = new Set<number>()
  let before = ''
  let reach = 0
  for (const token of analysis.tokens) {
    if (cues.size >= MOST_CUES) break
    if (token.kind === 'break') reach = 0
    if (token.kind !== 'word' && token.kind !== 'segment') {
      before = ''
      continue
    }
    const { stem } = traitsOf(lexicon, token.text)
    cues.add(hashTerm(`cue\n${reach > 0 ? 'not ' : ''}${stem}`))
    cues.add(hashTerm(`cues\n${before} ${stem}`))
    reach = isNegation(language, token.text) ? NEGATION_REACH : reach - 1
    before = stem
  }
  return [...cues]
}

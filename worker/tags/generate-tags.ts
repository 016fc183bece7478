import { findCandidates } from './candidates.ts'
import type { Candidate } from './candidates.ts'
import { findLexicon } from './lexicon.ts'
import { hideNames } from './names.ts'
import { reduceHtml } from './reduce-html.ts'
import { tokenize } from './tokens.ts'

/** Goes up with every change that may give a text other tags. */
export const TAGGER_VERSION = 1

const MAX_TAGS = 5
const MAX_TAG_CHARACTERS = 48
const MIN_SCORE = 0.6

/**
 * Tags for a text in plain text or HTML: none to five, lower case, the most telling first. The same text gives the same
 * tags on every runtime. Texts in a language without a lexicon, and texts that say nothing, give none.
 */
export function generateTags(text: string): string[] {
  const tokens = tokenize(reduceHtml(text))
  const lexicon = findLexicon(tokens)
  if (lexicon === undefined) return []
  return chooseTags(findCandidates(hideNames(tokens, lexicon), lexicon))
}

function chooseTags(candidates: readonly Candidate[]): string[] {
  const ranked = candidates
    .map((candidate) => ({ tag: candidate.phrase, score: scoreOf(candidate) }))
    .filter(({ tag, score }) => score >= MIN_SCORE && isPresentable(tag))
    .toSorted((a, b) => b.score - a.score)
  const tags: string[] = []
  for (const { tag } of ranked) {
    if (tags.length < MAX_TAGS && !tags.some((other) => isInside(tag, other) || isInside(other, tag))) tags.push(tag)
  }
  return tags
}

/** The weights are a logistic fit on huliu2004-chunks, rounded; leaving a product out of the fit cost 1 F1 at most. */
function scoreOf({ position, occurrences, determined, verbal }: Candidate): number {
  return 0.8 * (1 - position) + 0.4 * Math.log2(occurrences) + (determined > 0 ? 0.3 : 0) - (verbal > 0 ? 0.4 : 0)
}

/** The last check before a tag leaves, whatever the steps before it have let through. */
function isPresentable(tag: string): boolean {
  return tag.length <= MAX_TAG_CHARACTERS && !/[@:\\/_<>&]|\p{Nd}.*\p{Nd}/u.test(tag)
}

function isInside(inner: string, outer: string): boolean {
  return ` ${outer} `.includes(` ${inner} `)
}

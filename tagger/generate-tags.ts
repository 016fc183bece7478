import type { Candidate } from './candidate.ts'
import { findCandidates } from './candidates.ts'
import { choose } from './choose.ts'
import { dropNoise } from './drop-noise.ts'
import { findLexicon } from './language.ts'
import type { Lexicon } from './lexicon.ts'
import { type Memory, newMemory } from './memory.ts'
import { findStrange, hideAfterCues, hideStrange, type Strange, remainingStrange } from './names.ts'
import { cutHtml, reduceHtml } from '../runtime/reduce-html.ts'
import { scoreCandidates } from './score.ts'
import { type Token, tokenize } from './tokens.ts'
import { unifyVariants } from './variants.ts'
import { read, type Reading } from './reading.ts'

/**
 * A paragraph separator between the messages of a conversation (`conversation_text` in
 * db/functions/tags.sql).
 */
const MESSAGE_END = /\u2029+/
/** Bounds the work for a text of many separators. Later messages are not read. */
const MOST_MESSAGES = 1_000

/** The phrases of a text. The memory learns from them, and `chooseTags` chooses among them. */
export type Analysis = {
  /** What a person sees of the text, without greetings, closings and automatic replies. */
  readonly text: string
  /** Unlike in `reading`, strange words are not hidden. */
  readonly tokens: readonly Token[]
  readonly strange: Strange
  readonly reading: Reading
  readonly candidates: ReadonlyMap<string, Candidate>
}

/**
 * Tags for a text in plain text or HTML: none to five, in lower case, the most telling first.
 * `language` is a code such as `de`, if it is known. The same text and memory give the same tags on
 * Bun and on Deno. Workers tag in groups instead (tag-texts.ts).
 */
export const generateTags = (
  text: string,
  { language, memory = newMemory() }: { language?: string; memory?: Memory } = {},
): string[] => chooseTags(unhideWorkspaceWords(analyse(text, language), memory), memory)

export const analyse = (text: string, language?: string): Analysis => {
  const messages = cutHtml(text).split(MESSAGE_END, MOST_MESSAGES)
  const plain = dropNoise(messages.map(reduceHtml))
  const tokenized = tokenize(plain)
  const lexicon = findLexicon(tokenized, language)
  const tokens = hideAfterCues(unifyVariants(tokenized, lexicon), lexicon)
  return { ...readPhrases(tokens, lexicon, findStrange(tokens, lexicon)), text: plain }
}

const readPhrases = (tokens: readonly Token[], lexicon: Lexicon, strange: Strange): Omit<Analysis, 'text'> => {
  const reading = read(hideStrange(tokens, lexicon, strange), lexicon)
  return { tokens, strange, reading, candidates: findCandidates(reading) }
}

/** Tags for an analysis. Call `unhideWorkspaceWords` first. */
export const chooseTags = ({ reading, candidates }: Analysis, memory: Memory): string[] =>
  choose(scoreCandidates({ reading, candidates, memory }), reading, { memory })

/** Unhides the words that the workspace uses. */
export const unhideWorkspaceWords = (analysis: Analysis, memory: Memory): Analysis => {
  const { tokens, strange, reading } = analysis
  if (strange.places.size === 0) return analysis
  const left = remainingStrange({ tokens, strange, lexicon: reading.lexicon }, memory)
  if (left.places.size === strange.places.size) return analysis
  return { ...readPhrases(tokens, reading.lexicon, left), text: analysis.text }
}

import type { Analysis } from '../tagger/generate-tags.ts'
import type { TextKind } from '../contract/kinds-of-texts.ts'
import { kindCell, type MoodClass, moodCell } from './cells.ts'
import { cuesOf } from './cues.ts'
import { judgeKind, type JudgedKind, type JudgedText, judgeMood } from './judge.ts'
import { signatureOf, type Signature } from './near-identical.ts'
import { signsOf } from './signs.ts'
import { addShare, ALL, type CellShare } from './sums.ts'
import { decideThemes, type NewText, type ThemeDecisions, type ThemeMemory } from './themes.ts'

/** What the text alone says. `hasWords`: without words, there is nothing to judge. */
export type TextReading = JudgedText & { readonly hasWords: boolean; readonly signature: Signature | undefined }

/** What people say of a text: its rating, and a corrected kind. The sums learn from it. */
export type Labels = { readonly mood?: MoodClass | undefined; readonly kind?: TextKind | undefined }

/** A text of a job. Its hashes are plain, or all in their stored form, as those of the memory. */
export type MeantText = NewText & { readonly read: TextReading; readonly labels: Labels }

/**
 * `mood` and `kind` are null while they are not sure. `judged` is the likeliest kind, sure or not.
 * `taught`: what the labels of the text add to the sums; without labels, nothing.
 */
export type TextMeaning = {
  readonly id: string
  readonly mood: number | null
  readonly kind: TextKind | null
  readonly judged: JudgedKind
  readonly taught: CellShare
}

export type Meanings = ThemeDecisions & { readonly texts: readonly TextMeaning[] }

/** `seed`: a secret of the workspace, below 2^32. */
export const readMeaning = (analysis: Analysis, seed: number): TextReading => ({
  signs: signsOf(analysis),
  cues: cuesOf(analysis),
  hasWords: analysis.tokens.some(({ kind }) => kind === 'word' || kind === 'segment'),
  signature: signatureOf(analysis.text, seed),
})

/**
 * The hashes of the rows of sums that these texts, and the recent texts without a theme, need.
 * `isTaught`: without a label of a text, cues decide nothing.
 */
export const hashesOfSums = (
  texts: readonly MeantText[],
  { recent, isTaught }: { recent: ThemeMemory['recent']; isTaught: boolean },
): Set<number> => {
  const waiting = recent.filter(({ hasTheme }) => !hasTheme)
  return new Set([
    ALL,
    ...texts.flatMap(({ terms, read }) => (isTaught ? [...terms, ...read.cues] : terms)),
    ...waiting.flatMap(({ terms }) => terms),
  ])
}

/**
 * Decides themes, moods and kinds of the texts of a job, in their order. Changes the memory, which
 * must not have the shares of these texts. The labels of a text do not judge the text itself.
 */
export const decideMeaning = (memory: ThemeMemory, texts: readonly MeantText[]): Meanings => {
  const decided = texts.map((text): TextMeaning => {
    const judged = judgeKind(text.read, memory.sums)
    const { hasWords } = text.read
    return {
      id: text.id,
      mood: hasWords ? Number(judgeMood(text.read, memory.sums).toFixed(2)) : null,
      kind: hasWords && judged.isSure ? judged.kind : null,
      judged,
      taught: teach(text),
    }
  })
  for (const { taught } of decided) addShare(memory.sums, taught)
  return { ...decideThemes(memory, texts), texts: decided }
}

const teach = ({ read, labels: { mood, kind } }: MeantText): CellShare => {
  const cells = [...(mood === undefined ? [] : [moodCell(mood)]), ...(kind === undefined ? [] : [kindCell(kind)])]
  return { hashes: cells.length === 0 ? [] : read.cues, cells }
}

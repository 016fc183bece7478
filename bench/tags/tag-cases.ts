import { analyse, unhideWorkspaceWords } from '../../tagger/generate-tags.ts'
import type { Analysis } from '../../tagger/generate-tags.ts'
import { learn } from '../../tagger/learn.ts'
import { addDelta, newMemory } from '../../tagger/memory.ts'
import type { Memory } from '../../tagger/memory.ts'
import { keyOfTag } from '../../tagger/tag-key.ts'
import { drawPlace, hashBelow } from './tag-data.ts'
import type { Labelled } from './tag-data.ts'

/** A text to tag, its memory, and the keys of the tags that people would give it. */
export type Case = {
  readonly text: Labelled
  readonly analysis: Analysis
  readonly memory: Memory
  readonly gold: ReadonlySet<string>
}

/**
 * `texts`: the most texts of other parts in the memory. `tagged`: the most of these texts that have
 * their tags.
 */
type HistoryBounds = { readonly texts: number; readonly tagged: number }

const PARTS = 5

/**
 * A case for each text. The groups of a workspace are split into parts. The memory for a text has
 * the texts of the other parts, at most as many as `history` says. If `history` has texts, the
 * memory also has all texts of the same part, without their tags: the tagger learns from texts
 * before it tags them.
 */
export const toCases = (texts: readonly Labelled[], history: HistoryBounds): Case[] => {
  const cases: Case[] = []
  for (const workspace of Map.groupBy(texts, ({ product }) => product).values()) {
    const read = workspace.map((text) => {
      const analysis = analyse(text.text, text.lang)
      return { text, analysis, part: hashBelow(text.group, PARTS), order: drawPlace(`order ${text.id}`) }
    })
    for (let part = 0; part < PARTS; part++) {
      const earlier = read.filter(({ part: own }) => own !== part).toSorted((a, b) => a.order - b.order)
      const now = read.filter(({ part: own }) => own === part)
      const memory = newMemory()
      for (const [at, { text, analysis }] of earlier.slice(0, history.texts).entries()) {
        addDelta(memory, learn(analysis, at < history.tagged ? text.gold : undefined))
      }
      for (const { analysis } of history.texts > 0 ? now : []) addDelta(memory, learn(analysis))
      for (const { text, analysis } of now) {
        const own = unhideWorkspaceWords(analysis, memory)
        const gold = new Set(
          text.gold.map((tag) => keyOfTag(tag, analysis.reading.lexicon)).filter((key) => key !== ''),
        )
        cases.push({ text, analysis: own, memory, gold })
      }
    }
  }
  return cases
}

/**
 * Cases without a history, with histories of texts alone, and with histories that people tagged.
 */
export type Cases = {
  readonly none: readonly Case[]
  readonly untagged: readonly Case[]
  readonly tagged: readonly Case[]
}

/** Histories of several lengths, so that the weights hold for young and old workspaces. */
const UNTAGGED_LENGTHS = [12, 40, Number.POSITIVE_INFINITY]
const TAGGED_LENGTHS = [15, 50, Number.POSITIVE_INFINITY]

export const toAllCases = (texts: readonly Labelled[]): Cases => {
  return {
    none: toCases(texts, { texts: 0, tagged: 0 }),
    untagged: UNTAGGED_LENGTHS.flatMap((length) => toCases(texts, { texts: length, tagged: 0 })),
    tagged: TAGGED_LENGTHS.flatMap((length) => toCases(texts, { texts: length, tagged: length })),
  }
}

import { analyse, tagAnalysis } from './generate-tags.ts'
import { learn, learnGenerated } from './learn.ts'
import { apply, newMemory } from './memory.ts'
import type { Delta, Memory } from './memory.ts'

/** A text of a workspace; `tags` when people gave them, which may be none. */
export type Text = {
  readonly text: string
  readonly language?: string | undefined
  readonly tags?: readonly string[] | undefined
}

/** The tags of each text, as people gave them or generated, and what all texts have added to the memory. */
export type TaggedBatch = { readonly tags: string[][]; readonly delta: Delta }

/**
 * Learns from all texts of a batch, then tags those without tags: texts that come together help each other. Changes the
 * memory; the delta says by how much, for the store.
 */
export function tagBatch(memory: Memory, texts: readonly Text[]): TaggedBatch {
  const delta = newMemory()
  const add = (added: Delta): void => {
    apply(memory, added)
    apply(delta, added)
  }
  const analyses = texts.map(({ text, language, tags }) => {
    const analysis = analyse(text, language)
    add(learn(analysis, tags))
    return analysis
  })
  const tagged = texts.map(({ tags }, at) => {
    if (tags !== undefined) return [...tags]
    const analysis = analyses[at]
    return analysis === undefined ? [] : tagAnalysis(analysis, memory)
  })
  texts.forEach(({ tags }, at) => {
    const analysis = analyses[at]
    if (tags === undefined && analysis !== undefined) add(learnGenerated(analysis, tagged[at] ?? []))
  })
  return { tags: tagged, delta }
}

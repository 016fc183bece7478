import { analyse, type Analysis, chooseTags, unhideWorkspaceWords } from './generate-tags.ts'
import { hashInTag, hashTerm, addDelta, type Delta, type Memory } from './memory.ts'
import { learn, learnGenerated, strangeKeys } from './learn.ts'

/**
 * A text of a workspace. `tags` are the tags that people gave, possibly none; undefined if people
 * have not tagged it.
 */
export type Text = {
  readonly text: string
  readonly language?: string | undefined
  readonly tags?: readonly string[] | undefined
}

/** An analysed text with its delta for a memory. */
export type AnalysedText = {
  readonly analysis: Analysis
  readonly given: readonly string[] | undefined
  readonly learned: Delta
}

/**
 * The tags of each text, from people or generated, and its share: the delta that the text has added
 * to the memory.
 */
type TaggedTexts = { readonly tags: string[][]; readonly shares: Delta[] }

/**
 * Learns from all texts of a group, then tags the texts that people did not tag. So texts of one
 * group help each other. Changes the memory.
 */
export const tagTexts = (memory: Memory, texts: readonly Text[]): TaggedTexts => {
  const analysed = analyseTexts(texts)
  learnTexts(memory, analysed)
  return tagAnalysed(memory, unhideWordsOfTexts(memory, analysed))
}

export const analyseTexts = (texts: readonly Text[]): AnalysedText[] =>
  texts.map(({ text, language, tags }) => {
    const analysis = analyse(text, language)
    return { analysis, given: tags, learned: learn(analysis, tags) }
  })

export const learnTexts = (memory: Memory, analysed: readonly AnalysedText[]): void => {
  for (const { learned } of analysed) addDelta(memory, learned)
}

/** Unhides the words that the workspace uses, in texts that people did not tag. */
export const unhideWordsOfTexts = (memory: Memory, analysed: readonly AnalysedText[]): AnalysedText[] =>
  analysed.map((text) =>
    text.given === undefined ? { ...text, analysis: unhideWorkspaceWords(text.analysis, memory) } : text,
  )

/** Tags the texts that people did not tag. Call `unhideWordsOfTexts` first. Changes the memory. */
export const tagAnalysed = (memory: Memory, analysed: readonly AnalysedText[]): TaggedTexts => {
  const tags = analysed.map(({ analysis, given }) => (given === undefined ? chooseTags(analysis, memory) : [...given]))
  const shares = analysed.map(({ analysis, given, learned }, at): Delta => {
    if (given !== undefined) return learned
    const generated = learnGenerated(analysis, tags[at] ?? [])
    addDelta(memory, generated)
    return { ...learned, tags: generated.tags }
  })
  return { tags, shares }
}

/** The hashes of all terms and tag keys that these texts need from a memory. */
export const hashesOf = (analysed: readonly AnalysedText[]): Set<number> => {
  const hashes = new Set<number>()
  for (const { analysis, learned } of analysed) {
    for (const hash of learned.terms.keys()) hashes.add(hash)
    for (const key of learned.tags.keys()) hashes.add(hashTerm(key))
    for (const { hash, stems } of analysis.candidates.values()) {
      hashes.add(hash)
      if (stems.length > 1) hashes.add(hashTerm(stems[0] ?? '')).add(hashTerm(stems.at(-1) ?? ''))
    }
    for (const key of strangeKeys(analysis).keys()) hashes.add(hashTerm(key)).add(hashInTag(key))
  }
  return hashes
}

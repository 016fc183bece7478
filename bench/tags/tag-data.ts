import { readFileSync } from 'node:fs'

export type Sample = { readonly id: string; readonly text: string }

/** `gold` has one tag, the name of the question's intent. */
type Question = Sample & { readonly gold: readonly string[] }

/**
 * A text with the tags that people would give it. The pieces of one review have the same `group`.
 * Each product is a workspace.
 */
export type Labelled = Sample & {
  readonly group: string
  readonly product: string
  readonly lang: string
  readonly gold: readonly string[]
}

/** Reads a file of `data/` with one text a line, in JSON. */
const readTexts = <Text extends Sample>(file: string): Text[] =>
  readFileSync(new URL(`data/${file}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Text)

/** The pieces of the Hu and Liu reviews. */
export const readHuLiu = (): Labelled[] => readTexts('huliu2004.jsonl')

/** Questions of a bank's customers. */
export const readBanking = (): Question[] => readTexts('banking77.jsonl')

/**
 * Feedback to companies of many kinds. `dev` is for development and fitting, `held` only for
 * scores.
 */
export const readSupport = (part: 'dev' | 'held'): Labelled[] => readTexts(`support-${part}.jsonl`)

/** Texts in other languages than English. */
export const readLanguages = (): (Sample & { readonly lang: string })[] => readTexts('languages.jsonl')

/**
 * A whole number from 0 to `count - 1`, the same on every run. The numbers of different texts are
 * roughly evenly spread.
 */
export const hashBelow = (text: string, count: number): number => {
  let hash = 7
  for (const letter of text) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0
  return ((hash ^ (hash >>> 13)) >>> 0) % count
}

/** A place in a drawn order, the same on every run. Few texts get the same place. */
export const drawPlace = (text: string): number => hashBelow(text, 1_000_003)

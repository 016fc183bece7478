import { readFileSync } from 'node:fs'

/**
 * A text with the tags that people would give it; `group` keeps the pieces of one review together.
 */
export type Labelled = {
  readonly id: string
  readonly group: string
  readonly lang: string
  readonly text: string
  readonly gold: readonly string[]
  readonly product?: string
}

/** Reads a file with one text a line, in JSON. */
export const readLabelled = (path: string): Labelled[] => {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Labelled)
}

/** The part of a group, of `count` parts: the same on every run, and roughly even. */
export const foldOf = (group: string, count: number): number => {
  let hash = 7
  for (const letter of group) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0
  return ((hash ^ (hash >>> 13)) >>> 0) % count
}

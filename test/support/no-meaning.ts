import type { FoundMeaning, StoredMeaning } from '../../db/tags/store-tags.ts'

/** A text with tags and nothing else found. */
export const NO_MEANING: StoredMeaning = {
  mood: null,
  kind: null,
  theme: null,
  themeBy: null,
  similarId: null,
  themeCell: null,
  cues: [],
  cueCells: [],
  bands: [],
  marks: new Uint8Array(),
}

export const NOTHING_FOUND: FoundMeaning = { knownThemes: 0, opened: [], waiting: [], joined: [] }

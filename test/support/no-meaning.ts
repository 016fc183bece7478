import type { FoundMeaning, TextMeaning } from '../../db/tags/store-tags.ts'

/** A text of which nothing is found but its tags. */
export const NO_MEANING: TextMeaning = {
  mood: null,
  kind: null,
  theme: null,
  themeBy: null,
  similarId: null,
  terms: [],
  tags: [],
  themeCell: null,
  cues: [],
  cueCells: [],
  bands: [],
  marks: new Uint8Array(),
}

export const NOTHING_FOUND: FoundMeaning = { knownThemes: 0, opened: [], waiting: [], joined: [] }

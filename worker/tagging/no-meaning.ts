import type { Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { FoundMeaning, Share, StoredText, StoredMeaning } from '../../db/tags/store-tags.ts'
import type { Analysis } from '../../tagger/generate-tags.ts'

/** A text with what the tagger made of it. */
export type TaggedText = { stored: StoredText; analysis: Analysis; share: Share }

/**
 * Finds the themes, moods and kinds of the texts of a job, and feedback with nearly the same text.
 * `allTexts`: how many texts the workspace has. Hashes of the result are in their stored form.
 */
export type FindMeaning = (
  sql: Sql,
  realm: Realm,
  job: { texts: readonly TaggedText[]; allTexts: number },
) => Promise<{ meanings: StoredMeaning[]; found: FoundMeaning }>

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

/** Finds nothing: texts keep the theme and the kind that they have. */
export const findNoMeaning: FindMeaning = async (_sql, _realm, { texts }) => ({
  meanings: texts.map(({ stored: { kind, theme, themeBy } }) => ({ ...NO_MEANING, kind, theme, themeBy })),
  found: { knownThemes: null, opened: [], waiting: [], joined: [] },
})

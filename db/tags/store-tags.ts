import type { TaggingJob } from '../../contract/jobs.ts'
import { idOfEpoch } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import type { PlacedBy, TextKind } from '../../contract/kinds-of-texts.ts'
import { arrayText } from './tag-hashes.ts'

/** Stored records to tag. */
export type WantedRecords = Pick<TaggingJob, 'feedbackIds' | 'conversationIds'> & {
  /** Feedback from which the tagger does not learn. */
  indexedIds?: string[]
  workspaceId: string
  taggerVersion: number
  /** Also replace tags that this version of the tagger generated. Tags that people gave stay. */
  isRetag: boolean
}

/**
 * A stored text. `textVersion` changes with the text. `tags`: given by people; null if there are
 * none.
 */
export type StoredText = {
  record: 'feedback' | 'conversation'
  id: string
  number: number
  textVersion: string
  text: string
  tags: string[] | null
  /** Whether the tagger learns from the text. */
  teaches: boolean
  satisfaction: number | null
  /** The kind that a person set. */
  kind: TextKind | null
  /** The number of its theme, and what gave it the theme. */
  theme: number | null
  themeBy: PlacedBy | null
}

/**
 * The texts of the records that this version of the tagger has not read. With `isRetag`: the texts
 * of all records. The text of a conversation consists of its incoming messages. A feedback for which
 * the client sent an empty list of tags teaches nothing: clients send such lists for texts that people
 * have not read.
 */
export const readTexts = async (
  sql: Sql,
  { workspaceId, feedbackIds, indexedIds = [], conversationIds, taggerVersion, isRetag }: WantedRecords,
): Promise<StoredText[]> => {
  const taughtIds = await currentFeedbackIds(sql, workspaceId, feedbackIds)
  const otherIds = await currentFeedbackIds(sql, workspaceId, indexedIds)
  return sql<StoredText[]>`
    select t.record, t.id, t.number::float8 as number, t.text_version as "textVersion", t.tags, t.text, t.teaches,
      t.satisfaction, t.known_kind as kind, t.known_theme as theme, t.theme_by as "themeBy"
    from texts_to_read(
      ${workspaceId}::uuid, ${[...taughtIds, ...otherIds]}::uuid[], ${taughtIds}::uuid[], ${conversationIds}::uuid[],
      ${taggerVersion}::int, ${isRetag}::boolean
    ) as t
    order by t.number, t.id`.execute()
}

/** The ids that keys of deleted feedback have now; other ids stay. */
export const currentFeedbackIds = async (sql: Sql, workspaceId: string, ids: readonly string[]): Promise<string[]> => {
  const epochs = await sql<{ key: string; epoch: number }[]>`
    select key_id as key, epoch from purged_key where workspace_id = ${workspaceId} and key_id = any (${[...ids]}::uuid[])`
  const epochOf = new Map(epochs.map(({ key, epoch }) => [key, epoch]))
  return ids.map((id) => idOfEpoch(id, epochOf.get(id) ?? 0))
}

/**
 * The share of one text in the memory: the traits of its terms (`TermCounts` in tagger/memory.ts),
 * and the tags of the text. Hashes are in their stored form.
 */
export type Share = {
  /**
   * Whether people tagged the text, and how many tags they gave it. A term is `given` if it is one of
   * these tags.
   */
  judged: boolean
  given: number
  terms: readonly { hash: number; determined: boolean; free: boolean; valued: boolean; given: boolean }[]
  tags: readonly { hash: number; title: string }[]
}

/** What was found in a text. Hashes are in their stored form. */
export type StoredMeaning = {
  mood: number | null
  kind: TextKind | null
  theme: number | null
  themeBy: PlacedBy | null
  similarId: string | null
  themeCell: number | null
  cues: readonly number[]
  cueCells: readonly number[]
  bands: readonly number[]
  marks: Uint8Array
}

type Tagged = Pick<StoredText, 'record' | 'id' | 'number' | 'textVersion' | 'teaches'> & {
  tags: readonly string[]
  share: Share
  meaning: StoredMeaning
}

/** Themes that the texts open, and earlier texts that they change. */
export type FoundMeaning = {
  /** Which themes are known (`themeSet`); null if no theme was looked for. */
  knownThemes: string | null
  opened: { number: number; id: string; tagHash: number; title: string }[]
  waiting: { id: string; theme: number; themeCell: number }[]
  joined: { id: string; similarId: string }[]
}

/**
 * The memory of a workspace keeps at most so many terms of texts that people tagged, and as many of
 * all other texts. A term counts once for each text that has it.
 */
export const MAX_TERMS_OF_TEXTS = 250_000

/**
 * Stores generated tags with the tagger's version, counts them into the workspace's categories, and
 * adds the shares to the memory. Skips a record that was removed, or whose text has changed, in the
 * meantime. A repetition stores the same tags and shares. Returns how many records it stored; undefined if
 * themes have been opened or have ended meanwhile, or a theme is to be opened and a text has changed: then
 * everything has to be found again.
 */
export const storeTags = async (
  sql: Sql,
  workspaceId: string,
  { taggerVersion, tagged, found, maxTerms }: TagsToStore,
): Promise<number | undefined> => {
  const rows = tagged.map(({ record, id, number, textVersion, tags, teaches, share, meaning }) => ({
    record,
    id,
    number,
    text_version: textVersion,
    tags,
    teaches,
    ...rowOfMeaning(meaning),
    judged: share.judged,
    given: share.given,
    hashes: hashesText(share.terms),
    traits: arrayText(share.terms.map(traitsOf)),
    tag_hashes: hashesText(share.tags),
    titles: share.tags.map(({ title }) => title),
  }))
  const { knownThemes, opened, waiting, joined } = found
  const others = {
    opened: opened.map(({ tagHash, ...theme }) => ({ ...theme, tag_hash: tagHash })),
    waiting: waiting.map(({ themeCell, ...text }) => ({ ...text, theme_cell: themeCell })),
    joined: joined.map(({ id, similarId }) => ({ id, similar_id: similarId })),
  }
  const [stored] = await sql<[{ kept: number | null }]>`
    select store_tags(${workspaceId}::uuid, ${taggerVersion}::int, ${sql.json(rows)}::jsonb, ${sql.json(others)}::jsonb,
      ${knownThemes}::text, ${maxTerms}::bigint) as kept`
  return stored.kept ?? undefined
}

/**
 * Tells whether two sets of themes of a workspace are the same, from their number and the newest one: a new
 * theme is the newest, and an ended one is one less. As in `has_themes`.
 */
export const themeSet = (themes: readonly { id: string }[]): string => `${themes.length} ${themes.at(-1)?.id ?? ''}`

type TagsToStore = { taggerVersion: number; tagged: readonly Tagged[]; found: FoundMeaning; maxTerms: number }

const rowOfMeaning = (meaning: StoredMeaning) => ({
  mood: meaning.mood,
  kind: meaning.kind,
  theme: meaning.theme,
  theme_by: meaning.themeBy,
  similar_id: meaning.similarId,
  theme_cell: meaning.themeCell,
  cues: arrayText(meaning.cues),
  cue_cells: arrayText(meaning.cueCells),
  bands: arrayText(meaning.bands),
  marks: Buffer.from(meaning.marks).toString('hex'),
})

const hashesText = (hashed: readonly { hash: number }[]): string => arrayText(hashed.map(({ hash }) => hash))

const traitsOf = ({ determined, free, valued, given }: Share['terms'][number]): number =>
  Number(determined) + 2 * Number(free) + 4 * Number(valued) + 8 * Number(given)

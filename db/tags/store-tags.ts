import type { TaggingJob } from '../../contract/jobs.ts'
import { idOfEpoch, type Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import { arrayText, storedHashes } from './tag-hashes.ts'

/** Stored records to tag. */
export type WantedRecords = Pick<TaggingJob, 'feedbackIds' | 'conversationIds'> & {
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
}

/**
 * The texts of the records that this version of the tagger has not read. With `isRetag`: the texts
 * of all records that people have not tagged. The text of a conversation consists of its incoming
 * messages. A feedback for which the client sent an empty list of tags is left out: clients send
 * such lists for texts that people have not read.
 */
export const readTexts = async (
  sql: Sql,
  { workspaceId, feedbackIds, conversationIds, taggerVersion, isRetag }: WantedRecords,
): Promise<StoredText[]> => {
  const currentIds = await currentFeedbackIds(sql, workspaceId, feedbackIds)
  return sql<StoredText[]>`
    select t.record, t.id, t.number::float8 as number, t.text_version as "textVersion", t.tags, t.text
    from texts_to_read(
      ${workspaceId}::uuid, ${currentIds}::uuid[], ${conversationIds}::uuid[], ${taggerVersion}::int, ${isRetag}::boolean
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
 * and the tags of the text.
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

type Tagged = Omit<StoredText, 'text' | 'tags'> & { tags: readonly string[]; share: Share }

/**
 * The memory of a workspace keeps at most so many terms of texts that people tagged, and as many of
 * all other texts. A term counts once for each text that has it.
 */
export const MAX_TERMS_OF_TEXTS = 250_000

/**
 * Stores generated tags with the tagger's version, counts them into the workspace's categories, and
 * adds the shares to the memory. Skips a record that was removed, or whose text has changed, in the
 * meantime. A repetition stores the same tags and shares. Returns how many records it stored.
 */
export const storeTags = async (
  sql: Sql,
  realm: Realm,
  { taggerVersion, tagged, maxTerms }: { taggerVersion: number; tagged: readonly Tagged[]; maxTerms: number },
): Promise<number> => {
  const rows = tagged.map(({ record, id, number, textVersion, tags, share }) => ({
    record,
    id,
    number,
    text_version: textVersion,
    tags,
    judged: share.judged,
    given: share.given,
    hashes: hashesText(realm, share.terms),
    traits: arrayText(share.terms.map(traitsOf)),
    tag_hashes: hashesText(realm, share.tags),
    titles: share.tags.map(({ title }) => title),
  }))
  const [stored] = await sql<[{ kept: number }]>`
    select store_tags(${realm.workspaceId}::uuid, ${taggerVersion}::int, ${sql.json(rows)}::jsonb, ${maxTerms}::bigint) as kept`
  return stored.kept
}

const hashesText = (realm: Realm, hashed: readonly { hash: number }[]): string => {
  const hashes = hashed.map(({ hash }) => hash)
  return arrayText(storedHashes(realm, hashes))
}

const traitsOf = ({ determined, free, valued, given }: Share['terms'][number]): number =>
  Number(determined) + 2 * Number(free) + 4 * Number(valued) + 8 * Number(given)

import type { TaggingJob } from '../../contract/jobs.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { Sql } from '../connection/postgres.ts'
import { storedHashes } from './tag-hashes.ts'

/** The stored records that one statement reads. */
export type WantedRecords = Pick<TaggingJob, 'feedbackIds' | 'conversationIds'> & {
  workspaceId: string
  taggerVersion: number
  /**
   * Read records again that this version of the tagger has read. The tags that people gave are then
   * left alone.
   */
  again: boolean
}

/**
 * A stored text. Its `textVersion` tells later whether the text was replaced meanwhile; `tags` are
 * those that people gave.
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
 * The texts of the records that the tagger has not read yet. The text of a conversation is that of
 * its incoming messages. An empty list of tags teaches nothing: clients send it although nobody has
 * looked at the text.
 */
export const readTexts = async (
  sql: Sql,
  { workspaceId, feedbackIds, conversationIds, taggerVersion, again }: WantedRecords,
): Promise<StoredText[]> => {
  const rows = await sql<(Omit<StoredText, 'number'> & { number: string })[]>`
    select record, id, number, text_version as "textVersion", tags, text
    from texts_to_read(${workspaceId}, ${feedbackIds}::uuid[], ${conversationIds}::uuid[], ${taggerVersion}, ${again})
    order by number, id`
  return rows.map((row) => ({ ...row, number: Number(row.number) }))
}

/**
 * What one text taught the memory: how each of its terms appears in it, and the tags that it
 * carries.
 */
export type Share = {
  /** Whether people tagged it, and with how many tags. */
  judged: boolean
  given: number
  terms: readonly { hash: number; determined: boolean; free: boolean; valued: boolean; given: boolean }[]
  tags: readonly { hash: number; title: string }[]
}

export type Tagged = Omit<StoredText, 'text' | 'tags'> & { tags: readonly string[]; share: Share }

/**
 * How many terms of a workspace's latest texts are kept, each text counted by itself; as many again
 * of texts that people tagged.
 */
export const MAX_TERMS_OF_TEXTS = 250_000

/**
 * Keeps generated tags with the tagger's version, counts them into the workspace's categories, and
 * learns the shares. Nothing is kept for a record that was replaced meanwhile. Repeating it changes
 * nothing. Returns how many records got tags.
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
    select store_tags(${realm.workspaceId}, ${taggerVersion}, ${sql.json(rows)}, ${maxTerms}) as kept`
  return stored.kept
}

const hashesText = (realm: Realm, hashed: readonly { hash: number }[]): string => {
  const hashes = hashed.map(({ hash }) => hash)
  return arrayText(storedHashes(realm, hashes))
}

/**
 * Numbers as Postgres writes an array. As JSON they would be parsed to numerics, written as text,
 * and parsed again.
 */
const arrayText = (numbers: readonly number[]): string => `{${numbers.join()}}`

const traitsOf = ({ determined, free, valued, given }: Share['terms'][number]): number =>
  Number(determined) + 2 * Number(free) + 4 * Number(valued) + 8 * Number(given)

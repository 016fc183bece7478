import type { TaggingJob } from '../contract/job.ts'
import type { Realm } from '../contract/identity/own-id.ts'
import type { Sql } from './postgres.ts'
import { storedHashes } from './tag-hashes.ts'

/** Stored records, as many as one statement reads or writes. */
export type WantedRecords = Pick<TaggingJob, 'feedbackIds' | 'conversationIds'> & {
  workspaceId: string
  taggerVersion: number
  /** Also what this tagger has read already; people's tags are left alone then. */
  again: boolean
}

/** A stored text; `textVersion` so that nothing is kept of a text that was replaced meanwhile; `tags` when people gave them. */
export type StoredText = {
  record: 'feedback' | 'conversation'
  id: string
  number: number
  textVersion: string
  text: string
  tags: string[] | null
}

/**
 * The texts of those records that the tagger has not read yet: of a conversation its incoming messages. An empty list of tags
 * teaches nothing: clients send it without anybody having looked at the text.
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

/** What one text has taught: how it has each of its terms, and the tags that it carries. */
export type Share = {
  /** Whether people tagged it, and with how many tags. */
  judged: boolean
  given: number
  terms: readonly { hash: number; determined: boolean; free: boolean; valued: boolean; given: boolean }[]
  tags: readonly { hash: number; title: string }[]
}

export type Tagged = Omit<StoredText, 'text' | 'tags'> & { tags: readonly string[]; share: Share }

/** Terms of a workspace's latest texts that are kept, counted in each text; the same again of texts that people tagged. */
export const MAX_TERMS_OF_TEXTS = 250_000

/**
 * Keeps generated tags with the tagger's version, counts them into the workspace's categories, and learns the shares; of a
 * record that was replaced meanwhile nothing is kept. Doing it again changes nothing. Returns how many records it kept.
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
    hashes: arrayText(
      storedHashes(
        realm,
        share.terms.map(({ hash }) => hash),
      ),
    ),
    traits: arrayText(share.terms.map(traitsOf)),
    tag_hashes: arrayText(
      storedHashes(
        realm,
        share.tags.map(({ hash }) => hash),
      ),
    ),
    titles: share.tags.map(({ title }) => title),
  }))
  const [stored] = await sql<[{ kept: number }]>`
    select store_tags(${realm.workspaceId}, ${taggerVersion}, ${sql.json(rows)}, ${maxTerms}) as kept`
  return stored.kept
}

/** Numbers as Postgres writes an array: as JSON they would be parsed to numerics, written, and parsed again. */
const arrayText = (numbers: readonly number[]): string => `{${numbers.join()}}`

const traitsOf = ({ determined, free, valued, given }: Share['terms'][number]): number =>
  Number(determined) + 2 * Number(free) + 4 * Number(valued) + 8 * Number(given)

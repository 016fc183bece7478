import type { Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import { FIRST_BLOCKS } from '../reads/search.ts'
import { currentFeedbackIds, type WantedRecords } from './store-tags.ts'
import { arrayText, storedHashes } from './tag-hashes.ts'

/** A text of the search index: a feedback, the title of a conversation, or a message. */
type NamedText = { record: 'feedback' | 'conversation' | 'message'; id: string }
/** `textVersion` changes with the text. */
type TextToIndex = NamedText & { textVersion: string; text: string }

/** The texts of these records that the index lacks; with `isRetag`, all of them. */
export const findUnindexed = async (
  sql: Sql,
  { workspaceId, feedbackIds, conversationIds, isRetag }: Omit<WantedRecords, 'taggerVersion'>,
): Promise<NamedText[]> => {
  const currentIds = await currentFeedbackIds(sql, workspaceId, feedbackIds)
  return sql<NamedText[]>`
    select record, id from unindexed_texts(
      ${workspaceId}::uuid, ${currentIds}::uuid[], ${[...conversationIds]}::uuid[], ${isRetag}::boolean)`.execute()
}

/** The most bytes of texts that are in hand at a time. A first text alone may exceed them. */
const MOST_BYTES = 200_000

/**
 * The first of these texts, at least one, as far as their records exist. `read`: how many were
 * looked up.
 */
export const readTextsToIndex = async (
  sql: Sql,
  workspaceId: string,
  named: readonly NamedText[],
): Promise<{ texts: TextToIndex[]; read: number }> => {
  const [records, ids] = [named.map(({ record }) => record), named.map(({ id }) => id)]
  const rows = await sql<{ textVersion: string | null; text: string }[]>`
    select text_version as "textVersion", text
    from texts_to_index(${workspaceId}::uuid, ${records}::text[], ${ids}::uuid[], ${MOST_BYTES}::int)`
  const texts = rows.flatMap(({ textVersion, text }, at) =>
    textVersion === null ? [] : { ...named[at]!, textVersion, text },
  )
  return { texts, read: rows.length }
}

type WordsOfText = Omit<TextToIndex, 'text'> & { words: readonly number[] }

/** Adds the words of texts to the search index. Skips a text that has changed in the meantime. */
export const storeWords = async (sql: Sql, realm: Realm, texts: readonly WordsOfText[]): Promise<void> => {
  const hashes = storedHashes(
    realm,
    texts.flatMap(({ words }) => words),
  )
  let at = 0
  const stored = texts.map(({ words, ...text }) => ({
    ...text,
    hashes: arrayText(hashes.slice(at, (at += words.length))),
  }))
  const byBlock = Map.groupBy(stored, ({ record }) => FIRST_BLOCKS[record === 'feedback' ? record : 'conversation'])
  for (const [firstBlock, rows] of byBlock)
    await sql`select store_words(
      ${realm.workspaceId}::uuid, ${firstBlock}::int, ${rows.map(({ record }) => record)}::text[],
      ${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ textVersion }) => textVersion)}::text[],
      ${rows.map((row) => row.hashes)}::text[])`
}

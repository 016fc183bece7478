import type { HashKey, Realm } from '../../contract/identity/keys.ts'
import { type TaggingJob, TAGGER_VERSION } from '../../contract/jobs.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import {
  MAX_TERMS_OF_TEXTS,
  readTexts,
  readUnindexed,
  storeTags,
  storeWords,
  type StoredText,
  type WantedRecords,
} from '../../db/tags/store-tags.ts'
import { recallInto, toShare } from './recalled-memory.ts'
import { newMemory } from '../../tagger/memory.ts'
import { analyseTexts, unhideWordsOfTexts, learnTexts, tagAnalysed } from '../../tagger/tag-texts.ts'
import { hashesOfText } from '../../tagger/text-words.ts'

/**
 * The most feedback, and the most conversations, of one part: storing their shares holds the
 * workspace's lock.
 */
const TEXTS_AT_ONCE = 100
/** The same for the words of these texts. */
const MOST_CHARACTERS = 200_000

/**
 * Reads the texts of a job, generates tags for texts that people did not tag, and stores the tags
 * with the shares of all texts. Adds the words of feedback to the search index. A repetition does no
 * harm. Returns how many records got tags or taught the tagger.
 */
export const tag = async ({ sql, hashKey }: { sql: Sql; hashKey: HashKey }, job: TaggingJob): Promise<number> => {
  const { workspaceId, indexedIds = [] } = job
  const realm = { hashKey, workspaceId }
  let count = 0
  for (const ids of inParts(job)) {
    const wanted = { workspaceId, ...ids, taggerVersion: TAGGER_VERSION, isRetag: job.isRetag === true }
    count += await tagTogether(sql, realm, await readTexts(sql, wanted))
  }
  for (let at = 0; at < indexedIds.length; at += TEXTS_AT_ONCE) {
    const unindexed = await readUnindexed(sql, workspaceId, indexedIds.slice(at, at + TEXTS_AT_ONCE))
    for (const texts of byLength(unindexed)) {
      const indexed = texts.map(({ id, textVersion, text }) => ({ id, textVersion, words: hashesOfText(text) }))
      await storeWords(sql, realm, indexed)
    }
  }
  return count
}

/** Splits texts, so that a statement stores the words of about `MOST_CHARACTERS` at most. */
const byLength = <Text extends { text: string }>(texts: readonly Text[]): Text[][] => {
  const parts: Text[][] = []
  let characters = MOST_CHARACTERS
  for (const each of texts) {
    if (characters >= MOST_CHARACTERS) {
      parts.push([])
      characters = 0
    }
    parts.at(-1)!.push(each)
    characters += each.text.length
  }
  return parts
}

const inParts = ({
  feedbackIds,
  conversationIds,
}: TaggingJob): Pick<WantedRecords, 'feedbackIds' | 'conversationIds'>[] =>
  Array.from({ length: Math.ceil(Math.max(feedbackIds.length, conversationIds.length) / TEXTS_AT_ONCE) }, (_, part) => {
    const [start, end] = [part * TEXTS_AT_ONCE, (part + 1) * TEXTS_AT_ONCE]
    return { feedbackIds: feedbackIds.slice(start, end), conversationIds: conversationIds.slice(start, end) }
  })

const tagTogether = async (sql: Sql, realm: Realm, stored: readonly StoredText[]): Promise<number> => {
  if (stored.length === 0) return 0
  const analysed = analyseTexts(stored.map(({ text, tags }) => ({ text, tags: tags ?? undefined })))
  const memory = newMemory()
  const recall = recallInto(memory, sql, { realm, except: stored.map(({ id }) => id) })
  await recall(analysed)
  learnTexts(memory, analysed)
  const unhidden = unhideWordsOfTexts(memory, analysed)
  // The unhidden words form new phrases, which have to be recalled, too.
  await recall(unhidden)
  const { tags, shares } = tagAnalysed(memory, unhidden)
  const tagged = stored.map((each, at) => ({ ...each, tags: tags[at]!, share: toShare(shares[at]!) }))
  let count = 0
  for (const part of byLength(tagged)) {
    const withWords = part.map(({ text, ...each }) => ({
      ...each,
      words: each.record === 'feedback' ? hashesOfText(text) : undefined,
    }))
    count += await storeTags(sql, realm, {
      taggerVersion: TAGGER_VERSION,
      tagged: withWords,
      maxTerms: MAX_TERMS_OF_TEXTS,
    })
  }
  return count
}

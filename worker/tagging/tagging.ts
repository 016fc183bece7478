import type { HashKey, Realm } from '../../contract/identity/keys.ts'
import { type TaggingJob, TAGGER_VERSION } from '../../contract/jobs.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { findUnindexed, readTextsToIndex, storeWords } from '../../db/tags/search-texts.ts'
import {
  MAX_TERMS_OF_TEXTS,
  readTexts,
  storeTags,
  type StoredText,
  type WantedRecords,
} from '../../db/tags/store-tags.ts'
import { CAPABILITIES } from '../capabilities.ts'
import { type FindMeaning, findNoMeaning } from './no-meaning.ts'
import { recallInto, toShares } from './recalled-memory.ts'
import { newMemory } from '../../tagger/memory.ts'
import { analyseTexts, unhideWordsOfTexts, learnTexts, tagAnalysed } from '../../tagger/tag-texts.ts'
import { hashesOfText } from '../../tagger/text-words.ts'

/**
 * The most feedback, and the most conversations, of one part: storing their shares holds the
 * workspace's lock.
 */
const TEXTS_AT_ONCE = 100

/**
 * Reads the texts of a job, generates tags for texts that people did not tag, and stores the tags
 * with the shares of all texts. Adds the words of all texts to the search index. A repetition does
 * no harm. Returns how many records got tags or taught the tagger.
 */
export const tag = async (
  { sql, hashKey, findMeaning = REGISTERED }: { sql: Sql; hashKey: HashKey; findMeaning?: FindMeaning },
  job: TaggingJob,
): Promise<number> => {
  const { workspaceId, indexedIds = [], isRetag = false } = job
  const realm = { hashKey, workspaceId }
  let count = 0
  const taughtIds = new Set(job.feedbackIds)
  for (const { feedbackIds, conversationIds } of inParts({
    ...job,
    feedbackIds: [...new Set([...job.feedbackIds, ...indexedIds])],
  })) {
    const [taught, others] = [
      feedbackIds.filter((id) => taughtIds.has(id)),
      feedbackIds.filter((id) => !taughtIds.has(id)),
    ]
    const wanted = { workspaceId, feedbackIds: taught, indexedIds: others, conversationIds, isRetag }
    count += await tagUntilStored({ sql, realm, findMeaning }, { ...wanted, taggerVersion: TAGGER_VERSION })
    await indexTexts(sql, realm, { feedbackIds, conversationIds, isRetag })
  }
  return count
}

const [REGISTERED = findNoMeaning] = CAPABILITIES.flatMap(({ findMeaning }) => findMeaning ?? [])

/** Themes rarely come or go, and texts rarely change, while a job reads them. */
const MOST_TRIES = 10

type Tagging = { sql: Sql; realm: Realm; findMeaning: FindMeaning }

const tagUntilStored = async (tagging: Tagging, wanted: WantedRecords): Promise<number> => {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const stored = await tagTogether(tagging, await readTexts(tagging.sql, wanted))
    if (stored !== undefined) return stored
  }
  throw new Error(`Themes or texts changed ${MOST_TRIES} times while they were read`)
}

const indexTexts = async (sql: Sql, realm: Realm, ids: Omit<Parameters<typeof findUnindexed>[1], 'workspaceId'>) => {
  const { workspaceId } = realm
  const named = await findUnindexed(sql, { ...ids, workspaceId })
  for (let at = 0; at < named.length;) {
    const { texts, read } = await readTextsToIndex(sql, workspaceId, named.slice(at, at + TEXTS_AT_ONCE))
    if (texts.length > 0) {
      const indexed = texts.map(({ text, ...each }) => ({ ...each, words: hashesOfText(text) }))
      await storeWords(sql, realm, indexed)
    }
    at += read
  }
}

const inParts = ({
  feedbackIds,
  conversationIds,
}: TaggingJob): Pick<WantedRecords, 'feedbackIds' | 'conversationIds'>[] =>
  Array.from({ length: Math.ceil(Math.max(feedbackIds.length, conversationIds.length) / TEXTS_AT_ONCE) }, (_, part) => {
    const [start, end] = [part * TEXTS_AT_ONCE, (part + 1) * TEXTS_AT_ONCE]
    return { feedbackIds: feedbackIds.slice(start, end), conversationIds: conversationIds.slice(start, end) }
  })

/** Undefined: as `storeTags`. */
const tagTogether = async (
  { sql, realm, findMeaning }: Tagging,
  stored: readonly StoredText[],
): Promise<number | undefined> => {
  if (stored.length === 0) return 0
  const analysed = analyseTexts(stored.map(({ text, tags }) => ({ text, tags: tags ?? undefined })))
  const memory = newMemory()
  const recall = recallInto(memory, sql, { realm, except: stored.map(({ id }) => id) })
  await recall(analysed)
  learnTexts(
    memory,
    analysed.filter((_, at) => stored[at]!.teaches),
  )
  const unhidden = unhideWordsOfTexts(memory, analysed)
  // The unhidden words form new phrases, which have to be recalled, too.
  await recall(unhidden)
  const { tags, shares: deltas } = tagAnalysed(memory, unhidden)
  const shares = toShares(realm, deltas)
  const read = stored.map((text, at) => ({ stored: text, analysis: unhidden[at]!.analysis, share: shares[at]! }))
  const { meanings, found } = await findMeaning(sql, realm, { texts: read, allTexts: memory.texts })
  const tagged = stored.map(({ record, id, number, textVersion, teaches }, at) => ({
    record,
    id,
    number,
    textVersion,
    teaches,
    tags: tags[at]!,
    share: shares[at]!,
    meaning: meanings[at]!,
  }))
  return storeTags(sql, realm.workspaceId, {
    taggerVersion: TAGGER_VERSION,
    tagged,
    found,
    maxTerms: MAX_TERMS_OF_TEXTS,
  })
}

import { sumFeedback } from '../../db/sum-feedback.ts'
import { readTextsToIndex, storeWords } from '../../db/tags/search-texts.ts'
import { hashesOfText } from '../../tagger/text-words.ts'
import type { Service } from './service.ts'

const TEXTS_AT_ONCE = 500
const MOST_STEPS = 100_000

/** Does for filled tables what workers do for submitted feedback: the search index, and the sums. */
export const settleReads = async ({ sql, hashKey, workspaceId }: Service): Promise<void> => {
  const realm = { hashKey, workspaceId }
  const pages = sql<{ id: string }[]>`
    select id from feedback where workspace_id = ${workspaceId} order by change_position`.cursor(TEXTS_AT_ONCE)
  for await (const page of pages) {
    for (let at = 0; at < page.length;) {
      const named = page.slice(at).map(({ id }) => ({ record: 'feedback' as const, id }))
      const { texts, read } = await readTextsToIndex(sql, workspaceId, named)
      await storeWords(
        sql,
        realm,
        texts.map(({ text, ...each }) => ({ ...each, words: hashesOfText(text) })),
      )
      at += read
    }
  }
  await sumFeedback(sql, workspaceId, MOST_STEPS)
}

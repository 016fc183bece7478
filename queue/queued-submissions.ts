import type { SubmissionJob } from '../contract/job.ts'
import { readBatch } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys } from './keys.ts'

/** A batch can be as large as a conversation. */
const BATCHES_AT_ONCE = 4
const NAMES_AT_ONCE = 1_000

/**
 * The submissions of a workspace that are not settled, in the order of their acceptance, some at a time; decided purges are left out. What
 * is settled or split during the search may be missed, or come twice.
 */
export const queuedSubmissions = async function* (
  redis: RedisClient,
  prefix: string,
  workspaceId: string,
): AsyncGenerator<SubmissionJob> {
  const name = admissionKeys(prefix, workspaceId)
  let from = '-inf'
  for (;;) {
    const found = await redis.zrangebyscore(name.outstanding, from, '+inf', 'WITHSCORES', 'LIMIT', 0, NAMES_AT_ONCE)
    const batchIds = found.filter((_, at) => at % 2 === 0)
    for (let at = 0; at < batchIds.length; at += BATCHES_AT_ONCE) {
      const together = batchIds.slice(at, at + BATCHES_AT_ONCE)
      const texts = await redis.mget(together.map((batchId) => name.batch(batchId)))
      for (const [index, text] of texts.entries()) {
        if (text === null) continue
        const { submissions } = readBatch({ workspaceId, batchId: together[index]! }, text)
        yield* submissions.map(({ submission }) => submission)
      }
    }
    if (batchIds.length < NAMES_AT_ONCE) return
    from = `(${found.at(-1)}`
  }
}

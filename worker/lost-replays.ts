import { parseJob } from '../contract/job.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import { sayingsOf } from '../contract/identity/sayings.ts'
import { giveUpReplay, listBegunReplays } from '../db/submissions/dead.ts'
import type { Sql } from '../db/postgres.ts'
import { hasJob } from '../queue/find-job.ts'
import type { JobQueues } from '../queue/job-queues.ts'
import type { RedisClient } from '../queue/connect-redis.ts'
import { openBooksIn } from '../queue/open-books.ts'

type ReplayedStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues; hashKey: HashKey }

const LOOKED_AT = 20

/**
 * Gives up replays that were begun more than `afterMs` ago and whose job never came, since whoever replayed them died in
 * between: they are dead as before. Returns how many.
 */
export const giveUpLostReplays = async (stores: ReplayedStores, afterMs: number): Promise<number> => {
  const { sql, redis, prefix, queues, hashKey } = stores
  let givenUp = 0
  for (const { workspaceId, id, job: text } of await listBegunReplays(sql, { afterMs, limit: LOOKED_AT })) {
    const job = parseJob(text)
    if (!job || (await hasJob(queues, id))) continue
    // Its state last: until it is off the books, it is looked at again.
    const sayings = sayingsOf({ hashKey, workspaceId }, job)
    await openBooksIn(redis, prefix).settle([{ workspaceId, submissionId: id, number: job.number, sayings }])
    if (await giveUpReplay(sql, { workspaceId, id, afterMs })) givenUp++
  }
  return givenUp
}

import { parseJob } from '../../contract/job.ts'
import { sayingsOf } from '../../contract/identity/sayings.ts'
import { listBegunReplays } from '../../db/submissions/dead.ts'
import { booksIn } from '../../queue/books.ts'
import type { WorkerStores } from '../dependencies.ts'

/** Replays that are looked at in one go, the oldest first. */
const LOOKED_AT = 20

/**
 * Puts submissions on the books again whose replay was begun more than `afterMs` ago: the process that began it may have died before it
 * did so. What is on the books stays as it is.
 */
export const finishReplays = async ({ sql, redis, prefix, hashKey }: WorkerStores, afterMs: number): Promise<void> => {
  const books = booksIn(redis, prefix)
  for (const { job: text } of await listBegunReplays(sql, { afterMs, limit: LOOKED_AT })) {
    const submission = parseJob(text)
    if (submission === undefined) continue
    const sayings = sayingsOf({ hashKey, workspaceId: submission.workspaceId }, submission)
    await books.put({ submission, idempotency: undefined }, sayings)
  }
}

import { type Batch, batchOfOne } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys } from './keys.ts'
import { luaScript } from './lua-script.ts'

const SPLIT = luaScript('split')

/** Makes each submission of a batch a batch of its own, in the outbox. Harmless to repeat. */
export const splittingIn =
  (redis: RedisClient, prefix: string) =>
  async ({ workspaceId, batchId, submissions }: Batch): Promise<void> => {
    const name = admissionKeys(prefix, workspaceId)
    const keys = [
      name.outstanding,
      name.outbox,
      name.carriers,
      name.batch(batchId),
      name.backlog,
      name.ledger,
      name.never,
    ]
    const ones = submissions.flatMap((batched) => {
      const { submissionId, number } = batched.submission
      return [submissionId, number, batchOfOne(batched)]
    })
    await redis.eval(SPLIT, keys.length, ...keys, name.before.batch, Date.now(), batchId, ...ones)
  }

import type { Sayings } from '../contract/identity/sayings.ts'
import type { NamedBatch } from '../contract/job.ts'
import { type Batch, type Batched, readBatch } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, readByNumber } from './keys.ts'
import { puttingOnBooksIn } from './put-on-books.ts'
import { decidingIn, type Settled, settlingIn } from './settle.ts'
import { splittingIn } from './split.ts'

export type BatchName = Pick<NamedBatch, 'workspaceId' | 'batchId'>

/** `isAfterPurge`: a purge that was accepted before it is undecided. It stays false: a later purge has a higher number. */
export type BatchInTurn = Batch & { isAfterPurge: boolean }

/** What is done with what has been admitted. */
export type Books = {
  /** Undefined when the batch is settled, or was split. */
  read: (name: BatchName) => Promise<BatchInTurn | undefined>
  settle: (settled: readonly Settled[]) => Promise<void>
  decide: (purges: readonly Settled[]) => Promise<void>
  put: (batched: Batched, sayings: Sayings) => Promise<void>
  split: (batch: Batch) => Promise<void>
  /** Notes that a worker has this batch of one alone in hand, and returns how often one had. */
  noteAlone: (name: BatchName) => Promise<number>
  /** Whether there is such a note: a worker has it alone in hand, or died of it, or of something else meanwhile. */
  wasAlone: (name: BatchName) => Promise<boolean>
  /** Forgets these notes: the worker lives. */
  noteSurvived: (name: BatchName) => Promise<void>
}

export const booksIn = (redis: RedisClient, prefix: string): Books => ({
  read: async ({ workspaceId, batchId }) => {
    const name = admissionKeys(prefix, workspaceId)
    const [text, purges] = await Promise.all([
      redis.get(name.batch(batchId)),
      redis.zrange(name.purges, '0', '0', 'WITHSCORES'),
    ])
    if (text === null) return undefined
    const batch = readBatch({ workspaceId, batchId }, text)
    const [firstPurge] = readByNumber(purges)
    return { ...batch, isAfterPurge: firstPurge !== undefined && firstPurge.number < batch.number }
  },
  settle: settlingIn(redis, prefix),
  decide: decidingIn(redis, prefix),
  put: puttingOnBooksIn(redis, prefix),
  split: splittingIn(redis, prefix),
  noteAlone: ({ workspaceId, batchId }) => redis.hincrby(admissionKeys(prefix, workspaceId).alone, batchId, 1),
  wasAlone: async ({ workspaceId, batchId }) =>
    (await redis.hexists(admissionKeys(prefix, workspaceId).alone, batchId)) === 1,
  noteSurvived: async ({ workspaceId, batchId }) => {
    await redis.hdel(admissionKeys(prefix, workspaceId).alone, batchId)
  },
})

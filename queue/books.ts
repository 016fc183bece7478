import { Cluster } from 'ioredis'
import type { Sayings } from '../contract/identity/sayings.ts'
import type { NamedBatch } from '../contract/job.ts'
import { coalesce } from '../process/coalesce.ts'
import { type Batch, type Batched, readBatch } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { puttingOnBooksIn } from './put-on-books.ts'
import { decidingIn, type Settled, settlingIn } from './settle.ts'
import { splittingIn } from './split.ts'

export type BatchName = Pick<NamedBatch, 'workspaceId' | 'batchId'>

/**
 * `isAfterPurge`: a purge that was accepted before it is undecided. `isLone`: when it was admitted or read, nothing else of its workspace
 * was outstanding. The one stays false and the other true: what comes later has a higher number, but for what is replayed, of which
 * Postgres knows.
 */
export type BatchInTurn = Batch & { isAfterPurge: boolean; isLone: boolean }

/** What is done with what has been admitted. */
export type Books = {
  /** Undefined when the batch is settled, or was split. */
  read: (name: BatchName & Partial<Pick<NamedBatch, 'bytes' | 'follows'>>) => Promise<BatchInTurn | undefined>
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

export const READ_BATCH = luaScript('read-batch')
const KEYS_OF_READ_BATCH = 3
type RedisWithReadBatch = RedisClient & {
  readBatch(...keys: string[]): Promise<[text: string, firstPurge: string, outstanding: number] | []>
}

export const booksIn = (redis: RedisClient, prefix: string): Books => ({
  read: readingIn(redis, prefix),
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

/** What is read with one call at most. */
const READ_TOGETHER = { items: 100, weight: { most: 1_000_000, of: ({ bytes }: { bytes: number }) => bytes }, lanes: 4 }

const readingIn = (redis: RedisClient, prefix: string): Books['read'] => {
  redis.defineCommand('readBatch', { lua: READ_BATCH, numberOfKeys: KEYS_OF_READ_BATCH })
  const readText = coalesce<{ key: string; bytes: number }, string | null>((asked) => {
    const keys = asked.map(({ key }) => key)
    // On a cluster, each workspace may be in another slot.
    return redis instanceof Cluster ? Promise.all(keys.map((key) => redis.get(key))) : redis.mget(keys)
  }, READ_TOGETHER)
  return async ({ workspaceId, batchId, bytes = 0, follows }) => {
    const { batch: nameOf, purges, outstanding } = admissionKeys(prefix, workspaceId)
    const key = nameOf(batchId)
    if (follows !== undefined) {
      const text = await readText({ key, bytes })
      if (text === null) return undefined
      const batch = readBatch({ workspaceId, batchId }, text)
      return { ...batch, isAfterPurge: false, isLone: follows === 'nothing' }
    }
    const [text, firstPurge, count] = await (redis as RedisWithReadBatch).readBatch(key, purges, outstanding)
    if (text === undefined) return undefined
    const batch = readBatch({ workspaceId, batchId }, text)
    return { ...batch, isAfterPurge: firstPurge !== '' && Number(firstPurge) < batch.number, isLone: count === 1 }
  }
}

import type { Idempotency } from '../contract/idempotency.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import type { JobOf } from '../contract/job.ts'
import type { PurgeRows } from '../db/store.ts'
import { freeKeys, keysToFree } from '../db/submissions/idempotency-keys.ts'
import { purgeKeys } from '../contract/identity/purge-keys.ts'
import { purgeDead } from '../db/purges/purge-dead.ts'
import { findPurge, type PurgeCounts, purgeRow, removePurged, settlePurge } from '../db/purges/purge.ts'
import { tagShortened } from '../db/tags/tag-shortened.ts'
import { freeIdempotencyKeys } from '../queue/idempotency.ts'
import { enqueueTagging } from '../queue/job-queues.ts'
import type { RedisClient } from '../queue/connect-redis.ts'
import { serversOf } from '../queue/redis-servers.ts'
import type { WorkerDependencies, WorkerStores } from './dependencies.ts'
import { idempotencyRow } from './settle.ts'
import { whenAvailable } from './when-available.ts'

export const purgeRowsOf = (hashKey: HashKey, job: JobOf<'purge_contact'>): PurgeRows => ({
  workspaceId: job.workspaceId,
  purge: purgeRow(hashKey, job),
})

type Purge = {
  job: JobOf<'purge_contact'>
  idempotency: Idempotency | undefined
  attempts: number
  /** Hears how many records are removed so far. */
  onProgress: (removed: number) => Promise<void>
}

/**
 * What is left to do for a purge that was decided in its turn among the other submissions; they go on meanwhile. Its receipt comes last.
 * Each step can be repeated after a crash.
 */
export const finishPurge = (dependencies: WorkerDependencies, purge: Purge): Promise<PurgeCounts> =>
  whenAvailable(async () => {
    const { sql, hashKey } = dependencies
    const { workspaceId, submissionId, body } = purge.job
    const found = await findPurge(sql, { workspaceId, submissionId })
    // Without it an earlier attempt has written the receipt already.
    if (found !== undefined) await removeTraces(dependencies, purge, found)
    const { group: id, email } = purgeKeys({ hashKey, workspaceId }, body)
    const idempotency = idempotencyRow(hashKey, { submission: purge.job, idempotency: purge.idempotency })
    return settlePurge(sql, {
      workspaceId,
      submissionId,
      attempts: purge.attempts,
      identifiers: { id, email },
      ...(idempotency && { idempotency }),
    })
  }, dependencies.stop)

/**
 * Removes the records in bounded steps, then what dead submissions and idempotency keys have of the contacts. Conversations of
 * others that lost messages are tagged anew.
 */
const removeTraces = async (
  { sql, redis, prefix, queues, hashKey }: WorkerStores,
  { job, onProgress }: Purge,
  { keys, contactIds }: { keys: string[]; contactIds: string[] },
): Promise<void> => {
  const { workspaceId, submissionId, number } = job
  await removePurged(sql, { workspaceId, submissionId }, onProgress)
  await purgeDead(sql, hashKey, { job, keys, contactIds })
  await freeKeysOf({ sql, redis, prefix }, { workspaceId, keyIds: [...keys, ...contactIds], number })
  await forgetSlowCommands(redis)
  await tagShortened(sql, job, (jobs) => enqueueTagging(queues, jobs))
}

const KEYS_AT_ONCE = 500

/** Frees the idempotency keys of what the purge removed, in Redis first: what is left in Postgres is found again after a crash. */
const freeKeysOf = async (
  { sql, redis, prefix }: Pick<WorkerStores, 'sql' | 'redis' | 'prefix'>,
  { workspaceId, keyIds, number }: { workspaceId: string; keyIds: readonly string[]; number: number },
): Promise<void> => {
  for (;;) {
    const keys = await keysToFree(sql, { workspaceId, keyIds, number, limit: KEYS_AT_ONCE })
    await freeIdempotencyKeys(redis, prefix, { workspaceId, keys })
    await freeKeys(sql, { workspaceId, keys })
    if (keys.length < KEYS_AT_ONCE) return
  }
}

/** The slow log quotes commands, and so what they carried. Where a worker may not touch it, its owner has to (docs/operate.md). */
const forgetSlowCommands = async (redis: RedisClient): Promise<void> => {
  await Promise.all((await serversOf(redis)).map((server) => server.slowlog('RESET').catch(() => {})))
}

import type { JobOf } from '../contract/job.ts'
import { purgeKeys } from '../contract/identity/purge-keys.ts'
import { purgeDead } from '../db/purges/purge-dead.ts'
import { findPurge, type PurgeCounts, purgeRow, removePurged, settlePurge } from '../db/purges/purge.ts'
import { tagShortened } from '../db/tags/tag-shortened.ts'
import { hopeless } from '../queue/delivered-job.ts'
import { freeIdempotencyKeys } from '../queue/idempotency.ts'
import { enqueueTagging } from '../queue/job-queues.ts'
import type { RedisClient } from '../queue/connect-redis.ts'
import { serversOf } from '../queue/redis-servers.ts'
import type { Work } from './delivery.ts'
import type { WorkerDependencies, WorkerStores } from './dependencies.ts'
import { settleInQueue, type Settling } from './settle.ts'
import type { StoreInTurn } from './store-in-turn.ts'
import { whenAvailable } from './when-available.ts'

type Purge = {
  job: JobOf<'purge_contact'>
  attempts: number
  /** Hears how many records are removed so far. */
  onProgress: (removed: number) => Promise<void>
}

/** A purge is decided in its turn among the other submissions; its records are removed afterwards, while the others go on. */
export const purging =
  (dependencies: WorkerDependencies & Settling, storeInTurn: StoreInTurn): Work =>
  async (delivery) => {
    const { job, submission, attempts } = delivery
    if (submission.operation !== 'purge_contact') throw hopeless('No purge in the queue of purges.')
    const { workspaceId } = submission
    const decided = await storeInTurn(delivery, { workspaceId, purge: purgeRow(dependencies.hashKey, submission) })
    if (decided === 'given-back') return decided
    const onProgress = (removed: number): Promise<void> => job.updateProgress({ removed })
    const purge = { job: submission, attempts, onProgress }
    const counts = await whenAvailable(() => finishPurge(dependencies, purge), dependencies.stop)
    await settleInQueue(dependencies, submission)
    return counts
  }

/** What is left to do for a decided purge; its receipt comes last. Each step can be repeated after a crash. */
const finishPurge = async (stores: WorkerStores, purge: Purge): Promise<PurgeCounts> => {
  const { sql, hashKey } = stores
  const { workspaceId, submissionId, body } = purge.job
  const found = await findPurge(sql, { workspaceId, submissionId })
  // Without it an earlier attempt has written the receipt already.
  if (found !== undefined) await removeTraces(stores, purge, found)
  const { group: id, email } = purgeKeys({ hashKey, workspaceId }, body)
  return settlePurge(sql, { workspaceId, submissionId, attempts: purge.attempts, identifiers: { id, email } })
}

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
  await freeIdempotencyKeys(redis, prefix, { workspaceId, keyIds: [...keys, ...contactIds], number })
  await forgetSlowCommands(redis)
  await tagShortened(sql, job, (jobs) => enqueueTagging(queues, jobs))
}

/** The slow log quotes commands, and so what they carried. Where a worker may not touch it, its owner has to (docs/operate.md). */
const forgetSlowCommands = async (redis: RedisClient): Promise<void> => {
  await Promise.all((await serversOf(redis)).map((server) => server.slowlog('RESET').catch(() => {})))
}

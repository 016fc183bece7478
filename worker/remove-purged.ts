import type { RemovalJob } from '../contract/jobs.ts'
import type { Removal } from '../contract/submission.ts'
import { findPurge, finishPurge, purgeDead, removeRecords } from '../db/purges/removal.ts'
import { findKeysToFree, freeKeys } from '../db/submissions/idempotency-keys.ts'
import { findShortened } from '../db/tags/retag.ts'
import { freeIdempotencyKeys } from '../queue/admission/idempotency.ts'
import { addConversationTagging } from '../queue/jobs/job-queues.ts'
import type { WorkerStores } from './config.ts'

/**
 * Removes the data of a decided purge: records in bounded steps, then dead submissions, idempotency
 * keys, and the entries of the log up to the purge. Conversations that lost messages are tagged
 * again. The receipt comes last. Each step can be repeated after a crash. `onProgress` gets the
 * number of records removed so far.
 *
 * @returns the purge; undefined if it was finished before, or if the workspace is deleted
 */
export const removePurged = async (
  { sql, redis, prefix, logs, queues, hashKey }: WorkerStores,
  { workspaceId, purgeId, attempts }: RemovalJob & { attempts: number },
  onProgress: (removed: number) => Promise<void>,
): Promise<Pick<Removal, 'number' | 'operation'> | undefined> => {
  const purge = await findPurge(sql, { workspaceId, purgeId })
  if (purge === undefined) return undefined
  const { number, operation, keys, subjectIds } = purge
  await removeRecords(sql, { workspaceId, purgeId }, onProgress)
  await purgeDead(sql, { hashKey, workspaceId }, { purgeId, number, keys })
  await freeKeysOf({ sql, redis, prefix }, { workspaceId, subjectIds, number })
  await addConversationTagging(queues, workspaceId, await findShortened(sql, { workspaceId, number }))
  await logs.trimThrough(workspaceId, number)
  return (await finishPurge(sql, { workspaceId, purgeId, attempts })) && { number, operation }
}

const KEYS_AT_ONCE = 500

/** Frees idempotency keys, first in Redis: after a crash, Postgres still has the keys to free. */
const freeKeysOf = async (
  { sql, redis, prefix }: Pick<WorkerStores, 'sql' | 'redis' | 'prefix'>,
  { workspaceId, subjectIds, number }: { workspaceId: string; subjectIds: readonly string[]; number: number },
): Promise<void> => {
  for (;;) {
    const keys = await findKeysToFree(sql, { workspaceId, subjectIds, number, limit: KEYS_AT_ONCE })
    await freeIdempotencyKeys(redis, prefix, { workspaceId, keys })
    await freeKeys(sql, { workspaceId, submissionIds: keys.map(({ submissionId }) => submissionId) })
    if (keys.length < KEYS_AT_ONCE) return
  }
}

import { freeIdempotencyKeys } from '../queue/idempotency.ts'
import type { JobOf, TaggingJob } from '../contract/job.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import { purgeDead } from '../db/purge-dead.ts'
import { purgeKeys } from '../contract/identity/purge-keys.ts'
import { findPurge, type PurgeCounts, removePurged, settlePurge } from '../db/purges/purge.ts'
import type { Sql } from '../db/postgres.ts'
import type { RedisClient } from '../queue/connect-redis.ts'
import { serversOf } from '../queue/redis-servers.ts'
import { tagShortened } from '../db/tags/tag-shortened.ts'

export type PurgeDependencies = {
  sql: Sql
  redis: RedisClient
  redisPrefix: string
  hashKey: HashKey
  enqueueTagging: (jobs: readonly TaggingJob[]) => Promise<void>
}

/**
 * What is left to do for a purge that has been decided: removes the records in bounded steps, then dead submissions and
 * idempotency keys, has others' conversations that lost messages tagged anew, and writes the receipt. Each step can be repeated
 * after a crash.
 */
export const finishPurge = async (
  { sql, redis, redisPrefix, hashKey, enqueueTagging }: PurgeDependencies,
  job: JobOf<'purge_contact'>,
  { attempts, onProgress }: { attempts: number; onProgress: (removed: number) => Promise<void> },
): Promise<PurgeCounts> => {
  const { workspaceId, submissionId } = job
  const purge = await findPurge(sql, { workspaceId, submissionId })
  if (purge !== undefined) {
    await removePurged(sql, { workspaceId, submissionId }, onProgress)
    await purgeDead(sql, hashKey, { job, keys: purge.keys, contactIds: purge.contactIds })
    const keyIds = [...purge.keys, ...purge.contactIds]
    await freeIdempotencyKeys(redis, redisPrefix, { workspaceId, keyIds, number: job.number })
    await forgetSlowCommands(redis)
    await tagShortened(sql, job, enqueueTagging)
  }
  const { group: id, email } = purgeKeys({ hashKey, workspaceId }, job.body)
  return settlePurge(sql, { workspaceId, submissionId, attempts, identifiers: { id, email } })
}

/** The slow log quotes commands, and so what they carried. Where it must not be touched, its owner has to (docs/operate.md). */
const forgetSlowCommands = async (redis: RedisClient): Promise<void> => {
  await Promise.all((await serversOf(redis)).map((server) => server.slowlog('RESET').catch(() => {})))
}

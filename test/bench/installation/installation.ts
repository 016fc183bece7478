import type { Redis } from 'ioredis'
import { type HashKey, hashKeyFrom } from '../../../contract/identity/own-id.ts'
import type { Sql } from '../../../db/postgres.ts'
import { closeQueues, type JobQueues, openQueues } from '../../../queue/job-queues.ts'
import { countQueued } from '../../../queue/book-totals.ts'
import type { BatchQueueName } from '../../../contract/queues.ts'
import { type Drained, halt } from './drain.ts'
import type { Runtime } from './program.ts'
import { type ServerUrls, type Service, startService } from './service.ts'

/** A service with its queues, which are filled, paused and emptied from here. */
export type Installation = Service & {
  readonly hashKey: HashKey
  readonly queues: JobQueues
  /** A queue whose jobs carry submissions, with that of the backlogs, as the books count these. */
  readonly drained: (queue: BatchQueueName) => Drained
  /** Takes out everything that is queued; pauses stay as they are. Nothing may be at work. */
  readonly emptyQueues: () => Promise<void>
  /** The same with everything that is stored. */
  readonly empty: () => Promise<void>
}

/** Not emptied: whose they are and what they were made with. */
const KEPT_TABLES = ['workspace', 'token', 'installation', 'schema_migration', 'schema_functions']

export const startInstallation = async (
  urls: ServerUrls,
  options: { name: string; runtime: Runtime },
): Promise<Installation> => {
  const service = await startService(urls, options)
  const { sql, redis, prefix } = service
  const queues = openQueues(redis, prefix, () => {})
  return {
    ...service,
    hashKey: hashKeyFrom(service.hash),
    queues,
    drained: (name) => ({
      queues: [queues[name], queues.backlogs],
      unfinished: () => countQueued(redis, prefix, [service.workspaceId]),
    }),
    emptyQueues: () => removeKeys(redis, prefix),
    empty: async () => {
      // What it has in hand would meet the truncation of its tables.
      await halt([queues.tagging])
      await truncateTables(sql, prefix)
      await removeKeys(redis, prefix)
      await queues.tagging.resume()
    },
    stop: async () => {
      await closeQueues(queues)
      await service.stop()
    },
  }
}

const truncateTables = async (sql: Sql, schema: string): Promise<void> => {
  const tables = await sql<{ tablename: string }[]>`
    select tablename from pg_tables where schemaname = ${schema} and tablename <> all (${KEPT_TABLES}::text[])`
  await sql.unsafe(`truncate ${tables.map(({ tablename }) => `"${tablename}"`).join(', ')}`)
}

/** All but what says of a queue whether it is paused. */
const removeKeys = async (redis: Redis, prefix: string): Promise<void> => {
  for await (const found of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
    const keys = (found as string[]).filter((key) => !key.endsWith(':meta'))
    if (keys.length > 0) await redis.unlink(keys)
  }
}

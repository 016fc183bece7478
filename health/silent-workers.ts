import { GONE_AFTER_MS, type ProcessReport, workerConnectionName } from '../queue/jobs/process-reports.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { isRefusedByRedis } from '../queue/redis/refusal-of-redis.ts'
import { serversOf } from '../queue/redis/redis-servers.ts'

const MS_PER_SECOND = 1_000

/**
 * The number of workers that are connected to Redis and have not reported lately. A frozen worker
 * keeps its connections. New connections do not count. Undefined if a server refuses to list its
 * clients, as some hosted servers do.
 */
export const countSilentWorkers = async (
  redis: RedisClient,
  prefix: string,
  processes: Promise<readonly ProcessReport[]>,
): Promise<number | undefined> => {
  const [connected, reports] = await Promise.all([connectedWorkers(redis, prefix), processes])
  if (connected === undefined) return undefined
  const reporting = new Set(reports.map(({ id }) => id))
  return [...connected].filter((id) => !reporting.has(id)).length
}

const connectedWorkers = async (redis: RedisClient, prefix: string): Promise<Set<string> | undefined> => {
  const named = new RegExp(`\\bname=${workerConnectionName(prefix, '([0-9a-f-]{36})')} age=(\\d+) `, 'g')
  try {
    const servers = await serversOf(redis)
    // The types of Bun and Deno differ for this command.
    const lists: unknown[] = await Promise.all(servers.map((server) => server.client('LIST', 'TYPE', 'NORMAL')))
    const found = lists.flatMap((list) => [...String(list).matchAll(named)])
    return new Set(found.filter(([, , age]) => Number(age) * MS_PER_SECOND > GONE_AFTER_MS).map(([, id]) => id!))
  } catch (error) {
    if (isRefusedByRedis(error)) return undefined
    throw error
  }
}

import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from './connect-redis.ts'

/** A connection to one server that holds keys. */
export type RedisServer = Redis

/**
 * The servers that hold keys; for a cluster, all masters. A command about a server, such as PING or
 * SCAN, has to go to each of them.
 *
 * @throws if a master of a cluster is away: a search without it would be incomplete.
 */
export const serversOf = async (redis: RedisClient): Promise<RedisServer[]> => {
  if (!(redis instanceof Cluster)) return [redis]
  const ranges = await redis.cluster('SLOTS')
  const expected = new Set(ranges.map(([, , master]) => `${master?.[0]}:${master?.[1]}`))
  const masters = redis.nodes('master')
  if (masters.length < expected.size) {
    throw new Error(`${expected.size - masters.length} of ${expected.size} masters of the Redis cluster are away.`)
  }
  return masters
}

/** @throws if a server does not answer. */
export const pingRedis = async (redis: RedisClient): Promise<void> => {
  await Promise.all((await serversOf(redis)).map((server) => server.ping()))
}

/**
 * The names of matching keys from all servers, page by page. A name can come twice. A key that
 * appears, disappears or moves during the scan may be missed.
 */
export const scanKeys = async function* (
  redis: RedisClient,
  { match, count }: { match: string; count: number },
): AsyncGenerator<string[]> {
  for (const server of await serversOf(redis)) {
    for await (const found of server.scanStream({ match, count })) yield found as string[]
  }
}

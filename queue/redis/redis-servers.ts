import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from './connect-redis.ts'

/** A connection to one server that holds keys. */
export type RedisServer = Redis

/**
 * The servers that hold keys: of a cluster, all that have slots. Commands without a key go to each
 * of them, or to any one.
 *
 * @throws when a cluster's node is not reached: without it, nobody could say that something is
 * nowhere.
 */
export const serversOf = async (redis: RedisClient): Promise<RedisServer[]> => {
  if (!(redis instanceof Cluster)) return [redis]
  const ranges = await redis.cluster('SLOTS')
  const expected = new Set(ranges.map(([, , master]) => `${master?.[0]}:${master?.[1]}`))
  const masters = redis.nodes('master')
  if (masters.length < expected.size) {
    throw new Error(`${expected.size - masters.length} of ${expected.size} nodes of the cluster are away.`)
  }
  return masters
}

/** @throws when one of the servers does not answer. */
export const pingRedis = async (redis: RedisClient): Promise<void> => {
  await Promise.all((await serversOf(redis)).map((server) => server.ping()))
}

/**
 * Names of keys that match, some at a time, from all servers. A key that comes, goes or moves
 * meanwhile may be missed or come twice.
 */
export const scanKeys = async function* (
  redis: RedisClient,
  { match, count }: { match: string; count: number },
): AsyncGenerator<string[]> {
  for (const server of await serversOf(redis)) {
    for await (const found of server.scanStream({ match, count })) yield found as string[]
  }
}

import type { RedisClient } from './connect-redis.ts'
import { type RedisServer, serversOf } from './redis-servers.ts'

/** `maxBytes` 0 means that the memory has no bound. */
export type RedisCondition = { policy: string; appendOnly: boolean; usedBytes: number; maxBytes: number }

/**
 * What a Redis says about its memory and its append-only file; of a cluster, the memory of the node
 * that is fullest, and of the rest the worst.
 */
export const redisCondition = async (redis: RedisClient): Promise<RedisCondition> => {
  const each = await Promise.all((await serversOf(redis)).map(serverCondition))
  const fullest = each.reduce((one, other) => (fullness(other) > fullness(one) ? other : one))
  return {
    ...fullest,
    policy: each.find((server) => unfitness(server) !== undefined)?.policy ?? fullest.policy,
    appendOnly: each.every(({ appendOnly }) => appendOnly),
  }
}

const fullness = ({ usedBytes, maxBytes }: RedisCondition): number => (maxBytes === 0 ? 0 : usedBytes / maxBytes)

/** What one server says about its memory and its append-only file. */
export const serverCondition = async (server: RedisServer): Promise<RedisCondition> => {
  const info = await server.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*)\\r?$`, 'm').exec(info)?.[1] ?? ''
  return {
    policy: field('maxmemory_policy'),
    appendOnly: field('aof_enabled') === '1',
    usedBytes: Number(field('used_memory')),
    maxBytes: Number(field('maxmemory')),
  }
}

/**
 * The reason why this Redis must not be used, if there is one: with an eviction policy it would
 * drop accepted work.
 */
export const unfitness = ({ policy }: RedisCondition): string | undefined =>
  policy === 'noeviction'
    ? undefined
    : `Redis has maxmemory-policy ${policy}, which loses accepted submissions. Set it to noeviction.`

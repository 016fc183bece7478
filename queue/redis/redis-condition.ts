import type { RedisClient } from './connect-redis.ts'
import { type RedisServer, serversOf } from './redis-servers.ts'

/**
 * `maxBytes` 0 means that the memory has no bound. Hosted servers may not tell their policy and
 * their append-only file, which are then undefined.
 */
export type RedisCondition = {
  policy: string | undefined
  appendOnly: boolean | undefined
  usedBytes: number
  maxBytes: number
}

/**
 * What a Redis says about its memory and its append-only file; of a cluster, the memory of the node
 * that is fullest, and of the rest the worst.
 */
export const redisCondition = async (redis: RedisClient): Promise<RedisCondition> => {
  const each = await Promise.all((await serversOf(redis)).map(serverCondition))
  const fullest = each.reduce((one, other) => (fullness(other) > fullness(one) ? other : one))
  const unfit = each.find((server) => unfitness(server) !== undefined)
  const files = each.map(({ appendOnly }) => appendOnly)
  return {
    ...fullest,
    policy: (unfit ?? each.find(({ policy }) => policy === undefined) ?? fullest).policy,
    appendOnly: files.includes(false) ? false : files.includes(undefined) ? undefined : true,
  }
}

const fullness = ({ usedBytes, maxBytes }: RedisCondition): number => (maxBytes === 0 ? 0 : usedBytes / maxBytes)

/** What one server says about its memory and its append-only file. */
export const serverCondition = async (server: RedisServer): Promise<RedisCondition> => {
  const info = await server.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const appendOnly = field('aof_enabled')
  return {
    policy: field('maxmemory_policy') || (await settingOf(server, 'maxmemory-policy')),
    appendOnly: appendOnly === '' ? undefined : appendOnly === '1',
    usedBytes: Number(field('used_memory')),
    maxBytes: Number(field('maxmemory')),
  }
}

/** A setting of a server. Undefined where it does not tell, as hosted servers do. */
export const settingOf = (server: RedisServer, name: string): Promise<string | undefined> =>
  server.config('GET', name).then(
    (answer) => answer[1],
    () => undefined,
  )

/** Whether a server writes snapshots to its disk; undefined where it does not tell. */
export const keepsSnapshots = async (server: RedisServer): Promise<boolean | undefined> => {
  const save = await settingOf(server, 'save')
  return save === undefined ? undefined : save !== ''
}

/**
 * The reason why this Redis must not be used, if there is one: with an eviction policy it would
 * drop accepted work.
 */
export const unfitness = ({ policy }: RedisCondition): string | undefined =>
  policy === undefined || policy === 'noeviction'
    ? undefined
    : `Redis has maxmemory-policy ${policy}, which loses accepted submissions. Set it to noeviction.`

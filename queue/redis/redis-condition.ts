import { REDIS_FULL_SHARE } from '../../contract/limits.ts'
import type { RedisClient } from './connect-redis.ts'
import { type RedisServer, serversOf } from './redis-servers.ts'

/**
 * `maxBytes` is 0 if the memory is unbounded. `policy` and `appendOnly` are undefined if a hosted
 * server does not report them.
 */
export type RedisCondition = {
  policy: string | undefined
  appendOnly: boolean | undefined
  usedBytes: number
  maxBytes: number
  /** Whether the last write to the append-only file failed. Redis then refuses all writes. */
  cannotWrite: boolean
}

/** For a cluster: the memory of the fullest node, and the worst of the other values. */
export const readRedisCondition = async (redis: RedisClient): Promise<RedisCondition> => {
  const each = await Promise.all((await serversOf(redis)).map(readServerCondition))
  const fullest = each.reduce((a, b) => (fullness(b) > fullness(a) ? b : a))
  const unfit = each.find((server) => unfitness(server) !== undefined)
  const files = each.map(({ appendOnly }) => appendOnly)
  return {
    ...fullest,
    policy: (unfit ?? each.find(({ policy }) => policy === undefined) ?? fullest).policy,
    cannotWrite: each.some((server) => server.cannotWrite),
    appendOnly: files.includes(false) ? false : files.includes(undefined) ? undefined : true,
  }
}

const fullness = ({ usedBytes, maxBytes }: RedisCondition): number => (maxBytes === 0 ? 0 : usedBytes / maxBytes)

/** Whether the API refuses submissions because Redis is filling up. */
export const isNearlyFull = ({ usedBytes, maxBytes }: Pick<RedisCondition, 'usedBytes' | 'maxBytes'>): boolean =>
  maxBytes > 0 && usedBytes >= REDIS_FULL_SHARE * maxBytes

export const readServerCondition = async (server: RedisServer): Promise<RedisCondition> => {
  const info = await server.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const appendOnly = field('aof_enabled')
  return {
    policy: field('maxmemory_policy') || (await settingOf(server, 'maxmemory-policy')),
    appendOnly: appendOnly === '' ? undefined : appendOnly === '1',
    usedBytes: Number(field('used_memory')),
    maxBytes: Number(field('maxmemory')),
    cannotWrite: !['ok', ''].includes(field('aof_last_write_status')),
  }
}

/** A setting of a server; undefined if the server does not report it or does not answer. */
export const settingOf = (server: RedisServer, name: string): Promise<string | undefined> =>
  server.config('GET', name).then(
    (answer) => answer[1],
    () => undefined,
  )

/** Whether a server writes snapshots to its disk; undefined if that is unknown. */
export const keepsSnapshots = async (server: RedisServer): Promise<boolean | undefined> => {
  const save = await settingOf(server, 'save')
  return save === undefined ? undefined : save !== ''
}

/** Why this Redis must not be used, or undefined. An eviction policy drops accepted work. */
export const unfitness = ({ policy }: RedisCondition): string | undefined =>
  policy === undefined || policy === 'noeviction'
    ? undefined
    : `Redis has maxmemory-policy ${policy}, which loses accepted submissions. Set it to noeviction.`

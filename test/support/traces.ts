import type { Service } from './service.ts'

type Place = Pick<Service, 'sql' | 'redis' | 'redisPrefix'>

/** The tables that have a row with this text in any column. */
export const tablesWith = async ({ sql }: Place, text: string): Promise<string[]> => {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_type = 'BASE TABLE' order by table_name`
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql<{ found: boolean }[]>`
        select exists (select from ${sql(name)} as t where strpos(to_jsonb(t)::text, ${text}) > 0) as found`
      return row!.found ? [name] : []
    }),
  )
  return found.flat()
}

/** The Redis keys that have this text in their name or anywhere in their value. */
export const redisKeysWith = async ({ redis, redisPrefix }: Place, text: string): Promise<string[]> => {
  const keys: string[] = []
  for await (const some of redis.scanStream({ match: `{${redisPrefix}:*`, count: 1_000 }))
    keys.push(...(some as string[]))
  const found = await Promise.all(
    keys.map(async (key) => ((key + JSON.stringify(await contentOf({ redis }, key))).includes(text) ? [key] : [])),
  )
  return found.flat()
}

const contentOf = async ({ redis }: Pick<Place, 'redis'>, key: string): Promise<unknown> => {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return redis.smembers(key)
    case 'zset':
      return redis.zrange(key, '0', '-1')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return null
  }
}

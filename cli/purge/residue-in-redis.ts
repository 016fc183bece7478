import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { scanKeys, serversOf } from '../../queue/redis/redis-servers.ts'
import { CommandError } from '../run-command.ts'
import { comparable, createTally, heldIn, type Residue, type Sought } from './text-search.ts'

/** About this many keys or entries of a log are read at a time: each can hold a conversation. */
const LARGE_AT_ONCE = 16
const ITEMS_AT_ONCE = 100

/**
 * Searches Redis for the strings: the name and value of every key under the prefix, and the slow
 * logs, but not those of replicas. The search may miss a key that is added, removed or moved
 * meanwhile, or count the key twice.
 *
 * @throws CommandError when a key has a type that this service never makes; a ReplyError when Redis
 * hides its slow log.
 */
export const residueInRedis = async (
  redis: RedisClient,
  prefix: string,
  sought: readonly Sought[],
): Promise<{ residue: Residue[]; keys: number }> => {
  const tally = createTally()
  const start = `{${prefix}:`
  let keys = 0
  for await (const names of scanKeys(redis, { match: `${start}*`, count: LARGE_AT_ONCE })) {
    keys += names.length
    await Promise.all(
      names.map(async (name) => {
        const pattern = start + patternOf(name.slice(start.length), sought)
        tally.note(heldIn(comparable(name.slice(start.length)), sought), `name of ${pattern}`)
        tally.note(await heldByValue(redis, name, sought), pattern)
      }),
    )
  }
  for (const server of await serversOf(redis)) {
    for (const entry of (await server.slowlog('GET', -1)) as unknown[]) {
      tally.note(heldIn(comparable(JSON.stringify(entry)), sought), 'slow log')
    }
  }
  return { residue: tally.residue(), keys }
}

/** The group of a workspace, at the end of a hash tag. */
const GROUP = /^[0-9a-f]{2}\}$/

/** The name in printable form, with `*` for ids, groups and the searched strings. */
const patternOf = (name: string, sought: readonly Sought[]): string => {
  const isPlain = (part: string): boolean =>
    /^[A-Za-z_-]*\}?$/.test(part) && !GROUP.test(part) && heldIn(comparable(part), sought).length === 0
  const pattern = name
    .split(':')
    .map((part) => (isPlain(part) ? part : part.endsWith('}') ? '*}' : '*'))
    .join(':')
  return heldIn(comparable(pattern), sought).length === 0 ? pattern : '*'
}

const heldByValue = async (redis: RedisClient, name: string, sought: readonly Sought[]): Promise<Sought[]> => {
  const held = new Set<Sought>()
  for await (const values of valuesOf(redis, name)) {
    for (const value of values) for (const found of heldIn(comparable(value), sought)) held.add(found)
  }
  return [...held]
}

/** The content of a key, a few items at a time. Empty if the key was removed meanwhile. */
const valuesOf = async function* (redis: RedisClient, name: string): AsyncGenerator<string[]> {
  const type = await redis.type(name)
  switch (type) {
    case 'none':
      return
    case 'string':
      yield [(await redis.get(name)) ?? '']
      return
    case 'hash':
      yield* byCursor((cursor) => redis.hscan(name, cursor, 'COUNT', ITEMS_AT_ONCE))
      return
    case 'set':
      yield* byCursor((cursor) => redis.sscan(name, cursor, 'COUNT', ITEMS_AT_ONCE))
      return
    case 'zset':
      yield* byCursor((cursor) => redis.zscan(name, cursor, 'COUNT', ITEMS_AT_ONCE))
      return
    case 'list':
      yield* itemsOf(redis, name)
      return
    case 'stream':
      yield* entriesOf(redis, name)
      return
    default:
      throw new CommandError(
        `Redis has a key of type ${type}, which this command cannot search. It is not from this service: check REDIS_PREFIX.`,
      )
  }
}

const byCursor = async function* (scan: (cursor: string) => Promise<[cursor: string, items: string[]]>) {
  let cursor = '0'
  do {
    const [next, items] = await scan(cursor)
    yield items
    cursor = next
  } while (cursor !== '0')
}

const itemsOf = async function* (redis: RedisClient, name: string): AsyncGenerator<string[]> {
  for (let from = 0; ; from += ITEMS_AT_ONCE) {
    const items = await redis.lrange(name, from, from + ITEMS_AT_ONCE - 1)
    yield items
    if (items.length < ITEMS_AT_ONCE) return
  }
}

const entriesOf = async function* (redis: RedisClient, name: string): AsyncGenerator<string[]> {
  let from = '-'
  for (;;) {
    const entries = await redis.xrange(name, from, '+', 'COUNT', LARGE_AT_ONCE)
    yield entries.flatMap(([, fieldsAndValues]) => fieldsAndValues)
    if (entries.length < LARGE_AT_ONCE) return
    from = `(${entries.at(-1)![0]}`
  }
}

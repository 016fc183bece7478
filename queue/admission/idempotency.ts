import { type HashKey, keyedHash } from '../../contract/identity/keys.ts'
import { IDEMPOTENCY_SECONDS } from '../../contract/limits.ts'
import type { Idempotency, IdempotencyRecord, Operation } from '../../contract/submission.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import {
  compactId,
  groupKeys,
  groupOf,
  GROUPS,
  keysOfScript,
  MICROSECONDS_PER_MS,
  readCompactId,
  workspaceKeys,
} from '../keys.ts'
import { idBaseOf, letterOf, placeOf, submissionIdIn } from '../log/log-entry.ts'
import { luaScript } from '../redis/lua-script.ts'

// The letter of the operation and 126 bits of the key's hash, and 54 bits of the body's hash: a
// body is compared with one other body only. Without HASH_KEY, a client cannot search for
// collisions.
const KEY_CHARACTERS = 22
const BODY_CHARACTERS = 9

/** The hashes of an idempotency key and of the body. `bodyText`: the body as JSON. */
export const idempotencyOf = (
  hashKey: HashKey,
  { operation, key, bodyText }: { operation: Operation; key: string; bodyText: string },
): Idempotency => {
  const hash = (text: string): string => keyedHash(hashKey, text).toString('base64url')
  return {
    key: (letterOf(operation) + hash(key)).slice(0, KEY_CHARACTERS),
    body: hash(bodyText).slice(0, BODY_CHARACTERS),
  }
}

/** The beginning of a key's record in the book: the hash of the body, and the submission's id. */
export const recordBegin = ({ body, submissionId }: Omit<IdempotencyRecord, 'number'>): string =>
  body + compactId(submissionId)

/** A record of the book: a `recordBegin`, and the number in hexadecimal digits. */
export const readRecord = (text: string): IdempotencyRecord => {
  const number = Number.parseInt(text.slice(NUMBER_AT), 16)
  const id = readCompactId(text.slice(BODY_CHARACTERS, NUMBER_AT))
  return { body: text.slice(0, BODY_CHARACTERS), submissionId: withTime(id, number), number }
}

const COMPACT_ID_CHARACTERS = 22
const NUMBER_AT = BODY_CHARACTERS + COMPACT_ID_CHARACTERS

/** The id of a submission of this number. An id in the book lacks its time. */
const withTime = (id: string, number: number): string => {
  if (!id.startsWith(NO_TIME)) return id
  const place = placeOf(id)
  return submissionIdIn({ idBase: idBaseOf(id), first: number - place + 1 }, place)
}

const NO_TIME = '00000000-0000-'

const FREE = luaScript('free-idempotency-keys', ['idempotency-record'])
const TRIM = luaScript('trim-idempotency-keys', ['log', 'idempotency-record'])

/** Frees idempotency keys that still belong to the submissions with these numbers. */
export const freeIdempotencyKeys = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, keys }: { workspaceId: string; keys: readonly { key: string; number: number }[] },
): Promise<void> => {
  if (keys.length === 0) return
  const { idempotency } = workspaceKeys(prefix, workspaceId)
  await redis.eval(FREE, 1, idempotency, ...keys.flatMap(({ key, number }) => [key, number]))
}

/**
 * The memory of a key in the book and in the key order, with jemalloc. `npm run bench -- memory`
 * measures it as a part of a waiting submission.
 */
const BYTES_PER_KEY = 140
const SHARE_OF_MEMORY = 0.1
/** For a Redis without `maxmemory`. */
const MOST_KEYS_WITHOUT_MAXMEMORY = 1_000_000
/** The keys of one step, which blocks Redis for a millisecond or two. */
const KEYS_AT_ONCE = 500
/** For one workspace in one call. The next call goes on. */
const MOST_STEPS = 1_000

type Trim = {
  /** The group of workspaces whose expired keys this call removes. */
  group: string
  /** `maxmemory`; 0 if there is no bound. */
  maxBytes: number
  nowMs: number
}

/**
 * Removes expired keys from the books of one group. If all books together exceed a tenth of Redis's
 * memory, it also removes the oldest keys of the largest books. Keys of waiting submissions stay,
 * since Postgres lacks them.
 */
export const trimIdempotencyKeys = async (
  redis: RedisClient,
  prefix: string,
  { group, maxBytes, nowMs }: Trim,
): Promise<void> => {
  const most = maxBytes === 0 ? MOST_KEYS_WITHOUT_MAXMEMORY : Math.floor((maxBytes * SHARE_OF_MEMORY) / BYTES_PER_KEY)
  const sizes = await Promise.all(GROUPS.map((each) => redis.hvals(groupKeys(prefix, each).books)))
  const share = fairShare(sizes.flat().map(Number), most)
  const groups = GROUPS.filter((each, at) => each === group || sizes[at]!.some((keys) => Number(keys) > share))
  const books = await Promise.all(groups.map((each) => redis.hgetall(groupKeys(prefix, each).books)))
  const toTrim = books.flatMap(Object.entries).filter(([id, keys]) => Number(keys) > share || groupOf(id) === group)
  const tooOld = nowMs * MICROSECONDS_PER_MS - IDEMPOTENCY_SECONDS * 1_000 * MICROSECONDS_PER_MS
  await Promise.all(
    toTrim.map(async ([workspaceId]) => {
      const { keys, begin } = keysOfScript(prefix, workspaceId)
      for (let step = 0; step < MOST_STEPS; step++) {
        if ((await redis.eval(TRIM, keys.length, ...keys, begin, share, tooOld, KEYS_AT_ONCE)) !== 1) return
      }
    }),
  )
}

/** The largest share for which the sizes, each cut to it, sum up to at most `most`. */
export const fairShare = (sizes: readonly number[], most: number): number => {
  let left = most
  const ascending = sizes.toSorted((a, b) => a - b)
  for (const [at, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - at))
    if (size > share) return share
    left -= size
  }
  return most
}

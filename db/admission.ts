import type { Redis } from 'ioredis'
import type { Operation } from './contract/job.ts'
import type { Pending, Saying } from './contract/pending.ts'
import { admissionPrefix } from './contract/queues.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** Keyed hashes of an `Idempotency-Key` and of the body that came with it. */
export type Idempotency = { key: string; body: string }

/** What queued submissions say about a key: whether it exists, since when, and sayings by acceptance number. */
export type QueuedFacts = { existsFrom: number | null; said: { number: number; saying: Saying }[] }
export type QueuedFactsByKey = ReadonlyMap<string, QueuedFacts>

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  submissionId: string
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** No number at or below this is given. */
  floor?: number
  /** Nothing may enter now; the limit is judged all the same, and not used up. */
  full?: boolean
  /** Only asks whether the idempotency key was here before. */
  peek?: boolean
  /** Found by others from now on, until the submission is settled. */
  pending: Pending
  /** Keys about which to tell what is queued. */
  lookUp: readonly string[]
}

export type Admission =
  | { outcome: 'admitted'; number: number; remaining: number; resetMs: number; queued: QueuedFactsByKey }
  | { outcome: 'rate-limited'; retryAfterMs: number }
  | { outcome: 'full' }
  | { outcome: 'repeated'; submissionId: string; number: number; queued: QueuedFactsByKey }
  | { outcome: 'fresh' }
  | { outcome: 'in-flight' }
  | { outcome: 'other-body' }

export type Admit = (request: AdmissionRequest) => Promise<Admission>

/** A first request that died frees its idempotency key after this time. */
const IN_FLIGHT_SECONDS = 60
const IDEMPOTENCY_SECONDS = 24 * 60 * 60

// One round trip and one atomic step on Redis's own clock: has it been here before, may it enter, which number does it get,
// and what is queued about the keys it asks for. The bucket is the list of the moments at which its missing tokens were
// spent, oldest last, in microseconds. An idempotency record is body:submission:number:state.
// KEYS number bucket outstanding exists ledger idempotency purges, then the keys of what is said, then those looked up.
// ARGV tokens windowMs floor open|full|peek submission body inFlightSeconds isPurge #exists exists… #said value… #lookUp id…
const ADMIT = `
local at = 9
local function list()
  local n = tonumber(ARGV[at])
  local items = {}
  for i = 1, n do items[i] = ARGV[at + i] end
  at = at + n + 1
  return items
end
local exists, said, lookUp = list(), list(), list()
local function queued()
  local facts = {}
  for i, id in ipairs(lookUp) do
    facts[i] = {redis.call('HGET', KEYS[4], id) or '', redis.call('HGETALL', KEYS[7 + #said + i])}
  end
  return facts
end
if ARGV[6] ~= '' then
  local record = redis.call('GET', KEYS[6])
  if record then
    local body, submission, number, state = string.match(record, '^([^:]*):([^:]*):([^:]*):([^:]*)$')
    if body ~= ARGV[6] then return {'other-body'} end
    if state == 'in-flight' then return {'in-flight'} end
    return {'repeated', submission, number, queued()}
  end
end
if ARGV[4] == 'peek' then return {'fresh'} end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tokens, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local oldest, spent = false, 0
if tokens > 0 then
  oldest = redis.call('LINDEX', KEYS[2], -1)
  while oldest and oldest + window <= now do
    redis.call('RPOP', KEYS[2])
    oldest = redis.call('LINDEX', KEYS[2], -1)
  end
  spent = redis.call('LLEN', KEYS[2])
  if spent >= tokens then return {'rate-limited', string.format('%.0f', oldest + window - now)} end
end
if ARGV[4] == 'full' then return {'full'} end
if tokens > 0 then
  redis.call('LPUSH', KEYS[2], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local number = string.format('%.0f', math.max(now, last + 1, tonumber(ARGV[3]) + 1))
local facts = queued()
redis.call('SET', KEYS[1], number)
redis.call('ZADD', KEYS[3], number, ARGV[5])
if ARGV[8] == '1' then redis.call('ZADD', KEYS[7], number, ARGV[5]) end
redis.call('HINCRBY', KEYS[5], 'accepted', 1)
for _, id in ipairs(exists) do redis.call('HSETNX', KEYS[4], id, number) end
for i, saying in ipairs(said) do redis.call('HSET', KEYS[7 + i], number, saying) end
if ARGV[6] ~= '' then
  redis.call('SET', KEYS[6], ARGV[6] .. ':' .. ARGV[5] .. ':' .. number .. ':in-flight', 'EX', ARGV[7])
end
return {'admitted', number, tokens - spent - 1, string.format('%.0f', (oldest or now) + window - now), facts}
`

type RawFacts = [existsFrom: string, said: string[]][]
type RawAdmission =
  | ['admitted', number: string, remaining: number, resetMicroseconds: string, facts: RawFacts]
  | ['rate-limited', microseconds: string]
  | ['full' | 'fresh' | 'in-flight' | 'other-body']
  | ['repeated', submissionId: string, number: string, facts: RawFacts]

type RedisWithAdmit = Redis & { admit(numberOfKeys: number, ...rest: (string | number)[]): Promise<RawAdmission> }

const MICROSECONDS_PER_MS = 1_000

/** Names of the keys of one workspace's admission. */
export const admissionKeys = (prefix: string, workspaceId: string) => {
  const base = admissionPrefix(prefix, workspaceId)
  return {
    number: `${base}:number`,
    bucket: (operation: Operation) => `${base}:bucket:${operation}`,
    outstanding: `${base}:outstanding`,
    /** Those of the outstanding that are purges: what was accepted after one waits until it is done. */
    purges: `${base}:purges`,
    exists: `${base}:exists`,
    ledger: `${base}:ledger`,
    said: (keyId: string) => `${base}:said:${keyId}`,
    idempotency: (operation: Operation, key: string) => `${base}:idempotency:${operation}:${key}`,
  }
}

/**
 * Decides whether a submission enters, and gives it its acceptance number: strictly increasing in its workspace, whichever
 * process asks, never at or below `floor`. Rejects when Redis does not answer; then nothing may be confirmed.
 */
export const admissionTo = (redis: Redis, prefix: string): Admit => {
  redis.defineCommand('admit', { lua: ADMIT })
  const withAdmit = redis as RedisWithAdmit
  return async ({
    workspaceId,
    operation,
    submissionId,
    limit,
    idempotency,
    floor = 0,
    full = false,
    peek = false,
    pending,
    lookUp,
  }) => {
    const name = admissionKeys(prefix, workspaceId)
    const keys = [
      name.number,
      name.bucket(operation),
      name.outstanding,
      name.exists,
      name.ledger,
      name.idempotency(operation, idempotency?.key ?? ''),
      name.purges,
      ...pending.said.map(({ keyId }) => name.said(keyId)),
      ...lookUp.map(name.said),
    ]
    const result = await withAdmit.admit(
      keys.length,
      ...keys,
      limit?.tokens ?? 0,
      limit?.windowMs ?? 0,
      floor,
      peek ? 'peek' : full ? 'full' : 'open',
      submissionId,
      idempotency?.body ?? '',
      IN_FLIGHT_SECONDS,
      operation === 'purge_contact' ? 1 : 0,
      pending.exists.length,
      ...pending.exists,
      pending.said.length,
      ...pending.said.map(({ saying }) => JSON.stringify(saying)),
      lookUp.length,
      ...lookUp,
    )
    switch (result[0]) {
      case 'admitted':
        return {
          outcome: 'admitted',
          number: Number(result[1]),
          remaining: result[2],
          resetMs: inMs(result[3]),
          queued: factsByKey(lookUp, result[4]),
        }
      case 'rate-limited':
        return { outcome: 'rate-limited', retryAfterMs: inMs(result[1]) }
      case 'repeated':
        return {
          outcome: 'repeated',
          submissionId: result[1],
          number: Number(result[2]),
          queued: factsByKey(lookUp, result[3]),
        }
      case 'full':
      case 'fresh':
      case 'in-flight':
      case 'other-body':
        return { outcome: result[0] }
    }
  }
}

const inMs = (microseconds: string): number => Math.ceil(Number(microseconds) / MICROSECONDS_PER_MS)

const factsByKey = (ids: readonly string[], facts: RawFacts): QueuedFactsByKey =>
  new Map(
    ids.map((id, index) => {
      const [existsFrom, said] = facts[index]!
      return [id, { existsFrom: existsFrom === '' ? null : Number(existsFrom), said: sayings(said) }]
    }),
  )

const sayings = (fieldsAndValues: readonly string[]): QueuedFacts['said'] => {
  const result: QueuedFacts['said'] = []
  for (let index = 0; index < fieldsAndValues.length; index += 2) {
    result.push({ number: Number(fieldsAndValues[index]), saying: JSON.parse(fieldsAndValues[index + 1]!) as Saying })
  }
  return result.toSorted((a, b) => a.number - b.number)
}

export type LookUpQueued = (workspaceId: string, keyIds: readonly string[]) => Promise<QueuedFactsByKey>

/** What queued submissions say about keys, for those who do not submit anything with the same question. */
export const queuedFactsIn =
  (redis: Redis, prefix: string): LookUpQueued =>
  async (workspaceId, keyIds) => {
    if (keyIds.length === 0) return new Map()
    const name = admissionKeys(prefix, workspaceId)
    const [exists, ...said] = await Promise.all([
      redis.hmget(name.exists, ...keyIds),
      ...keyIds.map((id) => redis.hgetall(name.said(id))),
    ])
    return factsByKey(
      keyIds,
      keyIds.map((_, index) => [exists[index] ?? '', Object.entries(said[index]!).flat()]),
    )
  }

/** The first answer was given: from now on, for a day, the same request gets it again. */
export const rememberAnswered = async (
  redis: Redis,
  prefix: string,
  done: { workspaceId: string; operation: Operation; submissionId: string; number: number; idempotency: Idempotency },
): Promise<void> => {
  const { workspaceId, operation, submissionId, number, idempotency } = done
  await redis.set(
    admissionKeys(prefix, workspaceId).idempotency(operation, idempotency.key),
    `${idempotency.body}:${submissionId}:${number}:answered`,
    'EX',
    IDEMPOTENCY_SECONDS,
  )
}

// KEYS outstanding exists purges, then said keys. ARGV #submissions submission… number id (pairs for exists), then the numbers of said.
const SETTLE = `
local n = tonumber(ARGV[1])
for i = 1, n do
  redis.call('ZREM', KEYS[1], ARGV[1 + i])
  redis.call('ZREM', KEYS[3], ARGV[1 + i])
end
local at = n + 2
local pairs = tonumber(ARGV[at])
for i = 1, pairs do
  local number, id = ARGV[at + 2 * i - 1], ARGV[at + 2 * i]
  if redis.call('HGET', KEYS[2], id) == number then redis.call('HDEL', KEYS[2], id) end
end
at = at + 2 * pairs
for i = 4, #KEYS do redis.call('HDEL', KEYS[i], ARGV[at + i - 3]) end
return 0
`

type RedisWithSettle = Redis & { settle(numberOfKeys: number, ...rest: (string | number)[]): Promise<0> }

export type Settled = { workspaceId: string; submissionId: string; number: number; pending: Pending }
export type Settle = (settled: readonly Settled[]) => Promise<void>

/** Takes submissions that Postgres has settled off the queue's books. Doing it twice changes nothing. */
export const settlementIn = (redis: Redis, prefix: string): Settle => {
  redis.defineCommand('settle', { lua: SETTLE })
  const withSettle = redis as RedisWithSettle
  return async (settled) => {
    const byWorkspace = Map.groupBy(settled, ({ workspaceId }) => workspaceId)
    await Promise.all(
      [...byWorkspace].map(([workspaceId, submissions]) => {
        const name = admissionKeys(prefix, workspaceId)
        const exists = submissions.flatMap(({ number, pending }) => pending.exists.map((id) => [number, id]))
        const said = submissions.flatMap(({ number, pending }) => pending.said.map(({ keyId }) => ({ keyId, number })))
        const keys = [name.outstanding, name.exists, name.purges, ...said.map(({ keyId }) => name.said(keyId))]
        return withSettle.settle(
          keys.length,
          ...keys,
          submissions.length,
          ...submissions.map(({ submissionId }) => submissionId),
          exists.length,
          ...exists.flat(),
          ...said.map(({ number }) => number),
        )
      }),
    )
  }
}

/** Acceptance number of the first of something in a workspace that is not settled yet; undefined when there is none. */
export type LowestOf = (workspaceId: string) => Promise<number | undefined>

const lowestIn =
  (redis: Redis, key: (workspaceId: string) => string): LowestOf =>
  async (workspaceId) => {
    const [, number] = await redis.zrange(key(workspaceId), '0', '0', 'WITHSCORES')
    return number === undefined ? undefined : Number(number)
  }

export const lowestOutstandingIn = (redis: Redis, prefix: string): LowestOf =>
  lowestIn(redis, (workspaceId) => admissionKeys(prefix, workspaceId).outstanding)

export const lowestPurgeIn = (redis: Redis, prefix: string): LowestOf =>
  lowestIn(redis, (workspaceId) => admissionKeys(prefix, workspaceId).purges)

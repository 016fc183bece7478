import type { RedisClient } from './redis.ts'
import type { Operation } from './contract/job.ts'
import type { Pending } from './contract/pending.ts'
import { admissionKeys } from './admission-keys.ts'
import { type Idempotency, IDEMPOTENCY_SECONDS } from './idempotency.ts'
import { factsByKey, type QueuedFactsByKey, type RawFacts } from './queued-facts.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** What is left of a limit, and when the next spent token comes back; 0 when none is spent. */
export type Bucket = { remaining: number; resetMs: number }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  submissionId: string
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** Identity keys of the contacts that it concerns: a purge of one frees the idempotency key. */
  concerns?: readonly string[]
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

/** What was queued when the number was given: about the keys looked up, and whether any purge is undecided. */
export type Queue = { queued: QueuedFactsByKey; purgesQueued: boolean }

/** `bucket`: of an operation that has a limit. Only who is admitted has spent a token of it. */
export type Admission =
  | ({ outcome: 'admitted'; number: number; bucket: Bucket | undefined } & Queue)
  | ({ outcome: 'repeated'; submissionId: string; number: number; bucket: Bucket | undefined } & Queue)
  | { outcome: 'rate-limited' | 'full' | 'in-flight' | 'other-body'; bucket: Bucket | undefined }
  | { outcome: 'fresh' }

export type Admit = (request: AdmissionRequest) => Promise<Admission>

/** A first request that died frees its idempotency key after this time. */
const IN_FLIGHT_SECONDS = 60

// One round trip and one atomic step on Redis's own clock: has it been here before, may it enter, which number does it get,
// and what is queued about the keys it asks for. The bucket is the list of the moments at which its missing tokens were
// spent, oldest last, in microseconds. An idempotency record is body:submission:number:state. Clients send a command once more
// when its answer was lost with the connection, so a submission that is admitted already is told so, and counted once.
// KEYS number bucket outstanding exists ledger idempotency purges, then the keys of what is said, then those looked up, then
// the sets of idempotency records by whom they concern.
// ARGV tokens windowMs floor open|full|peek submission body inFlightSeconds isPurge idempotencySeconds
//   #exists id… #exists suffix… #said value… #lookUp id…
const ADMIT = `
local at = 10
local function list()
  local n = tonumber(ARGV[at])
  local items = {}
  for i = 1, n do items[i] = ARGV[at + i] end
  at = at + n + 1
  return items
end
local exists, suffixes, said, lookUp = list(), list(), list(), list()
local function queued()
  local facts = {}
  for i, id in ipairs(lookUp) do
    facts[i] = {redis.call('HGET', KEYS[4], id) or '', redis.call('HGETALL', KEYS[7 + #said + i])}
  end
  return facts
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tokens, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local function bucket()
  if tokens == 0 then return {} end
  local oldest = redis.call('LINDEX', KEYS[2], -1)
  while oldest and oldest + window <= now do
    redis.call('RPOP', KEYS[2])
    oldest = redis.call('LINDEX', KEYS[2], -1)
  end
  return {tokens - redis.call('LLEN', KEYS[2]), oldest and string.format('%.0f', oldest + window - now) or '0'}
end
local admitted = redis.call('ZSCORE', KEYS[3], ARGV[5])
if admitted then return {'admitted', bucket(), admitted, queued(), redis.call('ZCARD', KEYS[7])} end
if ARGV[6] ~= '' then
  local record = redis.call('GET', KEYS[6])
  if record then
    local body, submission, number, state = string.match(record, '^([^:]*):([^:]*):([^:]*):([^:]*)$')
    if body ~= ARGV[6] then return {'other-body', bucket()} end
    if state == 'in-flight' then return {'in-flight', bucket()} end
    return {'repeated', bucket(), submission, number, queued(), redis.call('ZCARD', KEYS[7])}
  end
end
if ARGV[4] == 'peek' then return {'fresh'} end
local left = bucket()
if tokens > 0 and left[1] <= 0 then return {'rate-limited', left} end
if ARGV[4] == 'full' then return {'full', left} end
if tokens > 0 then
  redis.call('LPUSH', KEYS[2], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  left = bucket()
end
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local number = string.format('%.0f', math.max(now, last + 1, tonumber(ARGV[3]) + 1))
local facts, purges = queued(), redis.call('ZCARD', KEYS[7])
redis.call('SET', KEYS[1], number)
redis.call('ZADD', KEYS[3], number, ARGV[5])
if ARGV[8] == '1' then redis.call('ZADD', KEYS[7], number, ARGV[5]) end
redis.call('HINCRBY', KEYS[5], 'accepted', 1)
for i, id in ipairs(exists) do redis.call('HSETNX', KEYS[4], id, number .. suffixes[i]) end
for i, saying in ipairs(said) do redis.call('HSET', KEYS[7 + i], number, saying) end
if ARGV[6] ~= '' then
  redis.call('SET', KEYS[6], ARGV[6] .. ':' .. ARGV[5] .. ':' .. number .. ':in-flight', 'EX', ARGV[7])
  for i = 8 + #said + #lookUp, #KEYS do
    redis.call('SADD', KEYS[i], KEYS[6])
    redis.call('EXPIRE', KEYS[i], ARGV[9])
  end
end
return {'admitted', left, number, facts, purges}
`

type RawBucket = [remaining: number, resetMicroseconds: string] | []
type RawAdmission =
  | ['admitted', bucket: RawBucket, number: string, facts: RawFacts, purges: number]
  | ['repeated', bucket: RawBucket, submissionId: string, number: string, facts: RawFacts, purges: number]
  | ['rate-limited' | 'full' | 'in-flight' | 'other-body', bucket: RawBucket]
  | ['fresh']

type RedisWithAdmit = RedisClient & { admit(numberOfKeys: number, ...rest: (string | number)[]): Promise<RawAdmission> }

const MICROSECONDS_PER_MS = 1_000

/**
 * Decides whether a submission enters, and gives it its acceptance number: strictly increasing in its workspace, whichever
 * process asks, never at or below `floor`. Rejects when Redis does not answer; then nothing may be confirmed.
 */
export const admissionTo = (redis: RedisClient, prefix: string): Admit => {
  redis.defineCommand('admit', { lua: ADMIT })
  const withAdmit = redis as RedisWithAdmit
  return async ({
    workspaceId,
    operation,
    submissionId,
    limit,
    idempotency,
    concerns = [],
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
      ...(idempotency === undefined ? [] : concerns.map(name.idempotencyOf)),
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
      IDEMPOTENCY_SECONDS,
      pending.exists.length,
      ...pending.exists.map(({ id }) => id),
      pending.exists.length,
      ...pending.exists.map(({ of }) => `:${of}`),
      pending.said.length,
      ...pending.said.map(({ sayings }) => JSON.stringify(sayings)),
      lookUp.length,
      ...lookUp,
    )
    switch (result[0]) {
      case 'admitted':
        return {
          outcome: 'admitted',
          bucket: bucketOf(result[1]),
          number: Number(result[2]),
          queued: factsByKey(lookUp, result[3]),
          purgesQueued: result[4] > 0,
        }
      case 'repeated':
        return {
          outcome: 'repeated',
          bucket: bucketOf(result[1]),
          submissionId: result[2],
          number: Number(result[3]),
          queued: factsByKey(lookUp, result[4]),
          purgesQueued: result[5] > 0,
        }
      case 'fresh':
        return { outcome: 'fresh' }
      case 'rate-limited':
      case 'full':
      case 'in-flight':
      case 'other-body':
        return { outcome: result[0], bucket: bucketOf(result[1]) }
    }
  }
}

const bucketOf = ([remaining, resetMicroseconds]: RawBucket): Bucket | undefined =>
  remaining === undefined
    ? undefined
    : { remaining: Math.max(0, remaining), resetMs: Math.ceil(Number(resetMicroseconds) / MICROSECONDS_PER_MS) }

import type { RedisClient } from './redis.ts'
import type { Operation } from './contract/job.ts'
import type { Pending } from './contract/pending.ts'
import { admissionKeys } from './admission-keys.ts'
import { factsByKey, type QueuedFactsByKey, type RawFacts } from './queued-facts.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** Keyed hashes of an `Idempotency-Key` and of the body that came with it. */
export type Idempotency = { key: string; body: string }

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

export type Admission =
  | ({ outcome: 'admitted'; number: number; remaining: number; resetMs: number } & Queue)
  | { outcome: 'rate-limited'; retryAfterMs: number }
  | { outcome: 'full' }
  | ({ outcome: 'repeated'; submissionId: string; number: number } & Queue)
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
if ARGV[6] ~= '' then
  local record = redis.call('GET', KEYS[6])
  if record then
    local body, submission, number, state = string.match(record, '^([^:]*):([^:]*):([^:]*):([^:]*)$')
    if body ~= ARGV[6] then return {'other-body'} end
    if state == 'in-flight' then return {'in-flight'} end
    return {'repeated', submission, number, queued(), redis.call('ZCARD', KEYS[7])}
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
return {'admitted', number, tokens - spent - 1, string.format('%.0f', (oldest or now) + window - now), facts, purges}
`

type RawAdmission =
  | ['admitted', number: string, remaining: number, resetMicroseconds: string, facts: RawFacts, purges: number]
  | ['rate-limited', microseconds: string]
  | ['full' | 'fresh' | 'in-flight' | 'other-body']
  | ['repeated', submissionId: string, number: string, facts: RawFacts, purges: number]

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
          number: Number(result[1]),
          remaining: result[2],
          resetMs: inMs(result[3]),
          queued: factsByKey(lookUp, result[4]),
          purgesQueued: result[5] > 0,
        }
      case 'rate-limited':
        return { outcome: 'rate-limited', retryAfterMs: inMs(result[1]) }
      case 'repeated':
        return {
          outcome: 'repeated',
          submissionId: result[1],
          number: Number(result[2]),
          queued: factsByKey(lookUp, result[3]),
          purgesQueued: result[4] > 0,
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

/** The first answer was given: from now on, for a day, the same request gets it again. */
export const rememberAnswered = async (
  redis: RedisClient,
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

// KEYS the set of records that concern a key. ARGV number. Frees those of submissions that were accepted before it.
const FREE = `
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local number = string.match(redis.call('GET', name) or '', '^[^:]*:[^:]*:([^:]*):')
  if number and tonumber(number) < tonumber(ARGV[1]) then redis.call('DEL', name) end
  if not number or tonumber(number) < tonumber(ARGV[1]) then redis.call('SREM', KEYS[1], name) end
end
return 0
`

/** Frees the idempotency keys of submissions that concern these identity keys and were accepted before `number`. */
export const freeIdempotencyKeys = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, keyIds, number }: { workspaceId: string; keyIds: readonly string[]; number: number },
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all(keyIds.map((id) => redis.eval(FREE, 1, name.idempotencyOf(id), number)))
}

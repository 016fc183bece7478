import type { Redis } from 'ioredis'
import type { Operation } from './contract/job.ts'
import { admissionPrefix } from './contract/queues.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

export type Admission =
  | { admitted: true; number: number; remaining: number; resetMs: number }
  | { admitted: false; retryAfterMs: number }
  | { admitted: false; full: true }

export type Admit = (request: {
  workspaceId: string
  operation: Operation
  limit?: RateLimit | undefined
  /** No number at or below this is given. */
  floor?: number
  /** Nothing may enter now; the limit is judged all the same, and not used up. */
  full?: boolean
}) => Promise<Admission>

// One round trip and one atomic step on Redis's own clock: may it enter, and which number does it get.
// The bucket is the list of the moments at which its missing tokens were spent, oldest last, in microseconds.
const ADMIT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tokens = tonumber(ARGV[1])
local window = tonumber(ARGV[2]) * 1000
local remaining = -1
local reset = 0
if tokens > 0 then
  local oldest = redis.call('LINDEX', KEYS[2], -1)
  while oldest and oldest + window <= now do
    redis.call('RPOP', KEYS[2])
    oldest = redis.call('LINDEX', KEYS[2], -1)
  end
  local spent = redis.call('LLEN', KEYS[2])
  if spent >= tokens then
    return {0, '0', 0, string.format('%.0f', oldest + window - now)}
  end
end
if ARGV[4] == '1' then
  return {2, '0', 0, '0'}
end
if tokens > 0 then
  local oldest = redis.call('LINDEX', KEYS[2], -1)
  local spent = redis.call('LLEN', KEYS[2])
  redis.call('LPUSH', KEYS[2], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  remaining = tokens - spent - 1
  reset = (oldest or now) + window - now
end
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local number = math.max(now, last + 1, tonumber(ARGV[3]) + 1)
redis.call('SET', KEYS[1], string.format('%.0f', number))
return {1, string.format('%.0f', number), remaining, string.format('%.0f', reset)}
`

type RedisWithAdmit = Redis & {
  admit(
    number: string,
    bucket: string,
    tokens: number,
    windowMs: number,
    floor: number,
    full: 0 | 1,
  ): Promise<[number, string, number, string]>
}

const MICROSECONDS_PER_MS = 1_000

/**
 * Decides whether a submission enters, and gives it its acceptance number: strictly increasing in its workspace, whichever
 * process asks, never at or below `floor`. Rejects when Redis does not answer; then nothing may be confirmed.
 */
export const admissionTo = (redis: Redis, prefix: string): Admit => {
  redis.defineCommand('admit', { numberOfKeys: 2, lua: ADMIT })
  const withAdmit = redis as RedisWithAdmit
  return async ({ workspaceId, operation, limit, floor = 0, full = false }) => {
    const base = admissionPrefix(prefix, workspaceId)
    const [admitted, number, remaining, microseconds] = await withAdmit.admit(
      `${base}:number`,
      `${base}:bucket:${operation}`,
      limit?.tokens ?? 0,
      limit?.windowMs ?? 0,
      floor,
      full ? 1 : 0,
    )
    const ms = Math.ceil(Number(microseconds) / MICROSECONDS_PER_MS)
    if (admitted === 2) return { admitted: false, full: true }
    return admitted === 1
      ? { admitted: true, number: Number(number), remaining, resetMs: ms }
      : { admitted: false, retryAfterMs: ms }
  }
}

import { JOB_OPTIONS } from './contract/queues.ts'
import type { RedisClient } from './redis.ts'

// What BullMQ's addJob, moveToActive and moveToFinished do, for many jobs in one call. Left out is what no job of ours has: parents,
// priorities, limiters and BullMQ's own de-duplication; and the event stream, which nothing reads. Whatever is not that simple
// is left to BullMQ.

// A job that is there already is left as it is. KEYS wait meta marker. ARGV prefix now options, then id, name and data of each.
const ADD_JOBS = `
local added = {}
for at = 4, #ARGV, 3 do
  local key = ARGV[1] .. ARGV[at]
  if redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'name', ARGV[at + 1], 'data', ARGV[at + 2], 'opts', ARGV[3], 'timestamp', ARGV[2])
    added[#added + 1] = ARGV[at]
  end
end
if #added == 0 then return 0 end
redis.call('LPUSH', KEYS[1], unpack(added))
if redis.call('HEXISTS', KEYS[2], 'paused') == 0 then redis.call('ZADD', KEYS[3], 0, '0') end
return #added
`

// A queue that is paused, that has a limit, or in which delayed jobs are due or prioritized ones wait, is answered with false.
// Clients send a command again when its answer was lost with the connection: what it has handed over it hands over once more.
// KEYS wait active prioritized delayed meta marker handed. ARGV prefix now token lockMs wanted mostBytes.
const FETCH_JOBS = `
local prefix, now, token, lockMs = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local function handOver(id)
  local key = prefix .. id
  redis.call('SET', key .. ':lock', token, 'PX', lockMs)
  redis.call('HSET', key, 'processedOn', ARGV[2])
  return {id, redis.call('HGETALL', key)}
end
local jobs = {}
local before = redis.call('LRANGE', KEYS[7], 0, -1)
if #before > 0 then
  for _, id in ipairs(before) do
    if redis.call('GET', prefix .. id .. ':lock') == token then jobs[#jobs + 1] = handOver(id) end
  end
  return {jobs, 0, 0}
end
local meta = redis.call('HMGET', KEYS[5], 'paused', 'concurrency', 'max')
local delayed = tonumber(redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0) / 4096
if meta[1] or meta[2] or meta[3] or (delayed > 0 and delayed <= now) or redis.call('EXISTS', KEYS[3]) == 1 then
  return false
end
local ids, bytes, isEmpty = {}, 0, 0
while #ids < tonumber(ARGV[5]) and bytes < tonumber(ARGV[6]) do
  local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[2])
  if not id then
    isEmpty = 1
    break
  end
  ids[#ids + 1] = id
  jobs[#jobs + 1] = handOver(id)
  local fields = jobs[#jobs][2]
  for at = 2, #fields, 2 do bytes = bytes + #fields[at] end
end
if #ids == 0 then return {jobs, delayed, 1} end
redis.call('RPUSH', KEYS[7], unpack(ids))
redis.call('PEXPIRE', KEYS[7], lockMs)
if isEmpty == 0 and redis.call('EXISTS', KEYS[1]) == 1 then redis.call('ZADD', KEYS[6], 0, '0') end
return {jobs, delayed, isEmpty}
`

// Answers 1 for each job that is finished, also when an earlier call of the same has done it; 0 for one that is held by another,
// or by nobody. Of many only the last are kept for operators to see: under load the others would be gone a moment later.
// KEYS active stalled completed. ARGV prefix now token keptOfOneCall keptCount keptSeconds, then id, result and attempts of each.
const FINISH_JOBS = `
local prefix, now = ARGV[1], ARGV[2]
local answers, finished, gone, scores = {}, {}, {}, {}
local firstKept = #ARGV - 3 * ARGV[4]
for at = 7, #ARGV, 3 do
  local id, key = ARGV[at], prefix .. ARGV[at]
  local holder = redis.call('GET', key .. ':lock')
  if holder == ARGV[3] and redis.call('LREM', KEYS[1], -1, id) == 1 then
    finished[#finished + 1] = id
    gone[#gone + 1] = key .. ':lock'
    if at > firstKept then
      redis.call('HSET', key, 'returnvalue', ARGV[at + 1], 'atm', ARGV[at + 2], 'finishedOn', now)
      scores[#scores + 1] = now
      scores[#scores + 1] = id
    else
      gone[#gone + 1] = key
      gone[#gone + 1] = key .. ':logs'
    end
    answers[#answers + 1] = 1
  elseif holder then
    answers[#answers + 1] = 0
  else
    local isFinished = redis.call('EXISTS', key) == 0 or redis.call('ZSCORE', KEYS[3], id)
    answers[#answers + 1] = isFinished and 1 or 0
  end
end
if #finished == 0 then return answers end
redis.call('SREM', KEYS[2], unpack(finished))
if #scores > 0 then redis.call('ZADD', KEYS[3], unpack(scores)) end
local surplus = math.min(redis.call('ZCARD', KEYS[3]) - ARGV[5], 1000)
local old = surplus > 0 and redis.call('ZRANGE', KEYS[3], 0, surplus - 1) or {}
if #old == 0 then
  old = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[6] * 1000, 'LIMIT', 0, 1000)
end
if #old > 0 then redis.call('ZREM', KEYS[3], unpack(old)) end
for _, id in ipairs(old) do
  gone[#gone + 1] = prefix .. id
  gone[#gone + 1] = prefix .. id .. ':logs'
end
redis.call('DEL', unpack(gone))
return answers
`

const JOB_OPTIONS_TEXT = JSON.stringify(JOB_OPTIONS)

/** Finished jobs that stay of those that one call finishes. */
const KEPT_OF_ONE_CALL = 10

/** What one call hands over at most, roughly, and at least one job: Redis answers nobody else meanwhile. */
const MOST_BYTES = 1_000_000

type WithJobsAtOnce = RedisClient & {
  addJobs(numberOfKeys: number, ...rest: (string | number)[]): Promise<number>
  fetchJobs(numberOfKeys: number, ...rest: (string | number)[]): Promise<[[string, string[]][], number, 0 | 1] | null>
  finishJobs(numberOfKeys: number, ...rest: (string | number)[]): Promise<(0 | 1)[]>
}

export type AddedJob = { id: string; name: string; data: string }

/** Queues jobs, first ones first, in a queue whose keys `toKey` names. Doing it again queues nothing twice. */
export const addJobsIn = (
  redis: RedisClient,
  toKey: (name: string) => string,
): ((jobs: readonly AddedJob[]) => Promise<void>) => {
  redis.defineCommand('addJobs', { lua: ADD_JOBS })
  const scripts = redis as WithJobsAtOnce
  const keys = ['wait', 'meta', 'marker'].map(toKey)
  const prefix = toKey('')
  return async (jobs) => {
    const each = jobs.flatMap(({ id, name, data }) => [id, name, data])
    await scripts.addJobs(keys.length, ...keys, prefix, Date.now(), JOB_OPTIONS_TEXT, ...each)
  }
}

export type HeldQueue = {
  /** The name of a key of the queue. */
  toKey: (name: string) => string
  /** In the locks of the jobs that are handed over. */
  token: string
  lockMs: number
  kept: { count: number; age: number }
}
export type FetchedJob = { id: string; fields: string[] }
export type FinishedJob = { id: string; result: string; attempts: number }
export type JobsAtOnce = {
  /**
   * `isAll`: no more are waiting. `delayedUntil`: when the first delayed job is due, in Unix milliseconds, or 0. Undefined when this is
   * left to BullMQ.
   */
  fetch: (most: number) => Promise<{ jobs: FetchedJob[]; isAll: boolean; delayedUntil: number } | undefined>
  /** Has a worker that waits for jobs, or the next that will, look for some. */
  remind: () => Promise<void>
  /** Returns whether each of them is finished, or gone: one that is not is not held by this token. */
  finish: (jobs: readonly FinishedJob[]) => Promise<boolean[]>
}

/** Both can be repeated without harm. */
export const jobsAtOnceIn = (redis: RedisClient, { toKey, token, lockMs, kept }: HeldQueue): JobsAtOnce => {
  redis.defineCommand('fetchJobs', { lua: FETCH_JOBS })
  redis.defineCommand('finishJobs', { lua: FINISH_JOBS })
  const scripts = redis as WithJobsAtOnce
  const fetchKeys = ['wait', 'active', 'prioritized', 'delayed', 'meta', 'marker'].map(toKey)
  const finishKeys = ['active', 'stalled', 'completed'].map(toKey)
  const prefix = toKey('')
  let fetches = 0
  return {
    fetch: async (most) => {
      const keys = [...fetchKeys, toKey(`handed:${token}:${fetches++}`)]
      const answer = await scripts.fetchJobs(keys.length, ...keys, prefix, Date.now(), token, lockMs, most, MOST_BYTES)
      if (answer === null) return undefined
      const [jobs, delayedUntil, isAll] = answer
      return { jobs: jobs.map(([id, fields]) => ({ id, fields })), isAll: isAll === 1, delayedUntil }
    },
    remind: async () => {
      await redis.zadd(toKey('marker'), 0, '0')
    },
    finish: async (jobs) => {
      const settings = [prefix, Date.now(), token, KEPT_OF_ONE_CALL, kept.count, kept.age]
      const results = jobs.flatMap(({ id, result, attempts }) => [id, result, attempts])
      const finished = await scripts.finishJobs(finishKeys.length, ...finishKeys, ...settings, ...results)
      return finished.map((one) => one === 1)
    },
  }
}

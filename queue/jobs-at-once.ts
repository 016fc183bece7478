import { type JobJson, raw2NextJobData } from 'bullmq'
import { JOB_OPTIONS } from '../contract/queues.ts'
import type { RedisClient } from './redis.ts'

// What BullMQ's addJob, moveToActive and moveToFinished do, for many jobs in one call. Left out is what no job of ours has: parents,
// priorities, limiters and BullMQ's own de-duplication; and the event stream, which nothing reads. Whatever is not that simple
// is left to BullMQ.

/** For scripts: puts the jobs of these ids behind all that wait, and wakes a worker. */
export const PUSH_JOBS = `
local function pushJobs(wait, meta, marker, ids)
  redis.call('LPUSH', wait, unpack(ids))
  if redis.call('HEXISTS', meta, 'paused') == 0 then redis.call('ZADD', marker, 0, '0') end
end
`

// A job that is there already is left as it is. KEYS wait meta marker. ARGV prefix now options, then id, name and data of each.
const ADD_JOBS = `
${PUSH_JOBS}
local added = {}
for at = 4, #ARGV, 3 do
  local key = ARGV[1] .. ARGV[at]
  if redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'name', ARGV[at + 1], 'data', ARGV[at + 2], 'opts', ARGV[3], 'timestamp', ARGV[2])
    added[#added + 1] = ARGV[at]
  end
end
if #added > 0 then pushJobs(KEYS[1], KEYS[2], KEYS[3], added) end
return #added
`

// A queue that is paused, that has a limit, or in which delayed jobs are due or prioritized ones wait, is answered with false.
// Clients send a command again when its answer was lost with the connection: what it has handed over it hands over once more.
// Of each job id, name, data and timestamp; also all its fields, unless it is as ADD_JOBS left it, which asks less of both sides.
// KEYS wait active prioritized delayed meta marker handed. ARGV prefix now token lockMs wanted mostBytes opts.
const FETCH_JOBS = `
local call, prefix, now, token, lockMs = redis.call, ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local jobs, bytes = {}, 0
local function handOver(id)
  local key = prefix .. id
  call('SET', key .. ':lock', token, 'PX', lockMs)
  call('HSET', key, 'processedOn', now)
  local known = call('HMGET', key, 'name', 'data', 'timestamp', 'opts')
  local isPlain = known[4] == ARGV[7] and call('HLEN', key) == 5
  jobs[#jobs + 1] = {id, known[1], known[2], known[3], not isPlain and call('HGETALL', key) or nil}
  bytes = bytes + #id + #(known[2] or '')
end
local before = call('LRANGE', KEYS[7], 0, -1)
if #before > 0 then
  for _, id in ipairs(before) do
    if call('GET', prefix .. id .. ':lock') == token then handOver(id) end
  end
  return {jobs, 0, 0}
end
local meta = call('HMGET', KEYS[5], 'paused', 'concurrency', 'max')
local delayed = tonumber(call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0) / 4096
if meta[1] or meta[2] or meta[3] or (delayed > 0 and delayed <= tonumber(now)) or call('EXISTS', KEYS[3]) == 1 then
  return false
end
local wanted = tonumber(ARGV[5])
local waiting = call('LRANGE', KEYS[1], -wanted, -1)
local ids = {}
for i = #waiting, 1, -1 do
  if bytes >= tonumber(ARGV[6]) then break end
  handOver(waiting[i])
  ids[#ids + 1] = waiting[i]
end
if #ids == 0 then return {jobs, delayed, 1} end
call('LTRIM', KEYS[1], 0, -1 - #ids)
call('LPUSH', KEYS[2], unpack(ids))
call('RPUSH', KEYS[7], unpack(ids))
call('PEXPIRE', KEYS[7], lockMs)
local isEmpty = #ids < wanted and #ids == #waiting and 1 or 0
if isEmpty == 0 and call('EXISTS', KEYS[1]) == 1 then call('ZADD', KEYS[6], 0, '0') end
return {jobs, delayed, isEmpty}
`

/**
 * For scripts: finishes jobs that this token holds; of each, `args` has id, result and attempts, from place `from` to `last`, `step` apart.
 * Answers 1 for each that is finished, also when an earlier call of the same has done it; 0 for one that is held by another,
 * or by nobody. Of many only the last are kept for operators to see: under load the others would be gone a moment later. `leftOf`, if
 * given, is told the place of a job that stays, and returns what is to be left of its body.
 */
export const FINISH_JOBS_TOLD = `
local function finishJobs(active, stalled, completed, told, args, from, last, step, leftOf)
  local prefix, now, token, keptOfOneCall, keptCount, keptSeconds = unpack(told)
  local answers, finished, gone, scores, locks = {}, {}, {}, {}, {}
  local firstKept = last + 1 - step * keptOfOneCall
  for at = from, last, step do locks[#locks + 1] = prefix .. args[at] .. ':lock' end
  local holders = redis.call('MGET', unpack(locks))
  for at = from, last, step do
    local id, key, place = args[at], prefix .. args[at], #answers + 1
    if holders[place] == token and redis.call('LREM', active, -1, id) == 1 then
      finished[#finished + 1] = id
      gone[#gone + 1] = locks[place]
      if at >= firstKept then
        redis.call('HSET', key, 'returnvalue', args[at + 1], 'atm', args[at + 2], 'finishedOn', now)
        if leftOf then redis.call('HSET', key, 'data', leftOf(at)) end
        scores[#scores + 1] = now
        scores[#scores + 1] = id
      else
        gone[#gone + 1] = key
        gone[#gone + 1] = key .. ':logs'
      end
      answers[place] = 1
    else
      local isGone = redis.call('EXISTS', key) == 0
      if leftOf and not isGone then redis.call('HSET', key, 'data', leftOf(at)) end
      answers[place] = not holders[place] and (isGone or redis.call('ZSCORE', completed, id)) and 1 or 0
    end
  end
  if #finished == 0 then return answers end
  redis.call('SREM', stalled, unpack(finished))
  if #scores > 0 then redis.call('ZADD', completed, unpack(scores)) end
  local surplus = math.min(redis.call('ZCARD', completed) - keptCount, 1000)
  local old = surplus > 0 and redis.call('ZRANGE', completed, 0, surplus - 1) or {}
  if #old == 0 then
    old = redis.call('ZRANGEBYSCORE', completed, '-inf', now - keptSeconds * 1000, 'LIMIT', 0, 1000)
  end
  if #old > 0 then redis.call('ZREM', completed, unpack(old)) end
  for _, id in ipairs(old) do
    gone[#gone + 1] = prefix .. id
    gone[#gone + 1] = prefix .. id .. ':logs'
  end
  redis.call('DEL', unpack(gone))
  return answers
end
`

// KEYS active stalled completed. ARGV prefix now token keptOfOneCall keptCount keptSeconds, then id, result and attempts of each.
const FINISH_JOBS = `
${FINISH_JOBS_TOLD}
return finishJobs(KEYS[1], KEYS[2], KEYS[3], {unpack(ARGV, 1, 6)}, ARGV, 7, #ARGV, 3)
`

/** Of every job, as BullMQ keeps them. */
export const JOB_OPTIONS_TEXT = JSON.stringify(JOB_OPTIONS)

/** Jobs that one call fetches or finishes at most: Redis answers nobody else meanwhile. */
export const JOBS_AT_ONCE = 100

/** Finished jobs that stay of those that one call finishes. */
export const KEPT_OF_ONE_CALL = 10

/** What one call hands over at most, roughly, and at least one job: Redis answers nobody else meanwhile. */
const MOST_BYTES = 1_000_000

type FetchedJob = [id: string, name: string, data: string, timestamp: string, fields?: string[]]

type WithJobsAtOnce = RedisClient & {
  addJobs(numberOfKeys: number, ...rest: (string | number)[]): Promise<number>
  fetchJobs(numberOfKeys: number, ...rest: (string | number)[]): Promise<[FetchedJob[], number, 0 | 1] | null>
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
export type FinishedJob = { id: string; result: string; attempts: number }
export type JobsAtOnce = {
  /**
   * `isAll`: no more are waiting. `delayedUntil`: when the first delayed job is due, in Unix milliseconds, or 0. Undefined when this is
   * left to BullMQ.
   */
  fetch: (most: number) => Promise<{ jobs: JobJson[]; isAll: boolean; delayedUntil: number } | undefined>
  /** Has a worker that waits for jobs, or the next that will, look for some. */
  remind: () => Promise<void>
  /** Returns whether each of them is finished, or gone: one that is not is not held by this token. */
  finish: (jobs: readonly FinishedJob[]) => Promise<boolean[]>
}

/** As BullMQ reads a job. */
const jsonOf = ([id, name, data, timestamp, fields]: FetchedJob, now: number): JobJson =>
  fields
    ? { ...(raw2NextJobData([fields, id, 0, 0])[0] as JobJson), id }
    : { ...AS_ADDED, id, name, data, timestamp: Number(timestamp), processedOn: now }

// BullMQ declares the last two as texts, and reads them as absent.
const AS_ADDED = {
  opts: JOB_OPTIONS,
  progress: 0,
  attemptsMade: 0,
  attemptsStarted: 0,
  stalledCounter: 0,
  delay: 0,
  priority: 0,
  failedReason: undefined as unknown as string,
  returnvalue: undefined as unknown as string,
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
      const now = Date.now()
      const settings = [prefix, now, token, lockMs, most, MOST_BYTES, JOB_OPTIONS_TEXT]
      const answer = await scripts.fetchJobs(keys.length, ...keys, ...settings)
      if (answer === null) return undefined
      const [jobs, delayedUntil, isAll] = answer
      return { jobs: jobs.map((told) => jsonOf(told, now)), isAll: isAll === 1, delayedUntil }
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

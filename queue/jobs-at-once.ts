import { type JobJson, raw2NextJobData } from 'bullmq'
import { JOB_OPTIONS } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'
import { handedName } from './keys.ts'
import { luaScript } from './lua-script.ts'

// These scripts do for many jobs in one call what BullMQ's addJob, moveToActive and moveToFinished do for one. They leave out what no job
// of ours has (parents, priorities, limiters, BullMQ's own de-duplication) and the event stream, which nothing reads. Every case that is
// not that simple is left to BullMQ.

const ADD_JOBS = luaScript('add-jobs', ['push-jobs'])
const FETCH_JOBS = luaScript('fetch-jobs')
const FINISH_JOBS = luaScript('finish-jobs', ['finish-jobs'])

/** The options of every job, as BullMQ keeps them. */
export const JOB_OPTIONS_TEXT = JSON.stringify(JOB_OPTIONS)

/** Jobs that one call fetches or finishes at most: Redis answers nobody else meanwhile. */
export const JOBS_AT_ONCE = 100

/** How many of the jobs that one call finishes are kept for operators. */
export const KEPT_OF_ONE_CALL = 10

/** Bytes that one call hands over at most, roughly, though at least one job: Redis answers nobody else meanwhile. */
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

type HeldQueue = {
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
   * `isAll`: no more are waiting. `delayedUntil`: when the first delayed job is due, in Unix milliseconds, or 0. Undefined when fetching
   * is left to BullMQ.
   */
  fetch: (most: number) => Promise<{ jobs: JobJson[]; isAll: boolean; delayedUntil: number } | undefined>
  /** Makes a worker look for jobs that waits for them, or the next one that will wait. */
  remind: () => Promise<void>
  /** Tells of each job whether it is finished or gone. This token does not hold the others. */
  finish: (jobs: readonly FinishedJob[]) => Promise<boolean[]>
}

/** Fetching and finishing can be repeated without harm. */
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
      const keys = [...fetchKeys, toKey(handedName(token, fetches++))]
      const now = Date.now()
      const settings = [prefix, now, token, lockMs, most, MOST_BYTES, JOB_OPTIONS_TEXT]
      const answer = await scripts.fetchJobs(keys.length, ...keys, ...settings)
      if (answer === null) return undefined
      const [jobs, delayedUntil, isAll] = answer
      return { jobs: jobs.map((fetched) => jsonOf(fetched, now)), isAll: isAll === 1, delayedUntil }
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

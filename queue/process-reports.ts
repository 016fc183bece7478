import type { RedisClient } from './redis.ts'
import * as v from 'valibot'
import { withinTime } from '../process/within-time.ts'

/** Between which times from acceptance to storage a worker tells them apart. */
export const STORAGE_BOUNDS_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600,
] as const

const count = v.pipe(v.number(), v.minValue(0))
const processReport = v.object({
  /** Another one after each start of a process, with which its counts begin at 0. */
  id: v.string(),
  kind: v.picklist(['api', 'worker']),
  accepted: count,
  refused: count,
  /** Attempts at jobs that failed, whether or not another one followed. */
  failed: count,
  tagged: count,
  /** Submissions by the time until they were stored: one for each of the bounds, and what took longer. */
  stored: v.array(count),
  loopDelaySeconds: count,
  postgresSeconds: v.nullable(count),
})
/** What a process of this installation says of itself: counts since its start, and its condition. */
export type ProcessReport = v.InferOutput<typeof processReport>
export type ProcessFigures = Partial<Omit<ProcessReport, 'id' | 'kind'>>

/** A process that has not reported for this long is taken for gone. */
const GONE_AFTER_MS = 10_000

// The clock is Redis's, since those of several machines can differ.
// KEYS figures seen. ARGV id report keepMs.
const REPORT = `
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ms, ARGV[1])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ms - ARGV[3])) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0
`

// KEYS figures seen. ARGV keepMs.
const READ_REPORTS = `
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local ids = redis.call('ZRANGEBYSCORE', KEYS[2], ms - ARGV[1], '+inf')
if #ids == 0 then return {} end
return redis.call('HMGET', KEYS[1], unpack(ids))
`

type WithReports = RedisClient & {
  reportProcess(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
  readProcessReports(numberOfKeys: number, ...rest: (string | number)[]): Promise<(string | null)[]>
}

export type ProcessReports = {
  report: (own: ProcessReport) => Promise<void>
  /** Takes back what a process has said that ends. */
  withdraw: (id: string) => Promise<void>
  /** Of the processes that are there. */
  read: () => Promise<ProcessReport[]>
}

/** Where all processes of an installation say how they are, so that any of them can show all of it. */
export const processReportsIn = (redis: RedisClient, prefix: string): ProcessReports => {
  redis.defineCommand('reportProcess', { lua: REPORT })
  redis.defineCommand('readProcessReports', { lua: READ_REPORTS })
  const withReports = redis as WithReports
  const base = `{${prefix}:processes}`
  const keys = [`${base}:figures`, `${base}:seen`] as const
  return {
    report: async (own) => {
      await withReports.reportProcess(keys.length, ...keys, own.id, JSON.stringify(own), GONE_AFTER_MS)
    },
    withdraw: async (id) => {
      await Promise.all([redis.hdel(keys[0], id), redis.zrem(keys[1], id)])
    },
    read: async () => {
      const texts = await withReports.readProcessReports(keys.length, ...keys, GONE_AFTER_MS)
      return texts.flatMap((text) => {
        if (text === null) return []
        // One of another version may say something else: it is not counted, and breaks nothing.
        const parsed = v.safeParse(processReport, JSON.parse(text))
        return parsed.success ? [parsed.output] : []
      })
    },
  }
}

const REPORT_EVERY_MS = 2_000
const WITHDRAW_WITHIN_MS = 1_000

/** Reports now and then what `figures` gives, until it is stopped. */
export const startReporting = (
  reports: ProcessReports,
  { id, kind }: Pick<ProcessReport, 'id' | 'kind'>,
  figures: () => Promise<ProcessFigures>,
): { stop: () => Promise<void> } => {
  let stopped = false
  let busy = false
  const report = async (): Promise<void> => {
    // While Redis is away a worker's commands wait for it: one of these is enough.
    if (busy) return
    busy = true
    try {
      const own = { ...NOTHING, ...(await figures()), id, kind }
      if (!stopped) await reports.report(own)
    } catch {
      // The next report says the same and more.
    } finally {
      busy = false
    }
  }
  void report()
  const timer = setInterval(() => void report(), REPORT_EVERY_MS)
  return {
    stop: async () => {
      stopped = true
      clearInterval(timer)
      await withinTime(reports.withdraw(id), WITHDRAW_WITHIN_MS).catch(() => {})
    },
  }
}

const NOTHING = {
  accepted: 0,
  refused: 0,
  failed: 0,
  tagged: 0,
  stored: [],
  loopDelaySeconds: 0,
  postgresSeconds: null,
}

import * as v from 'valibot'
import { withinTime } from '../../runtime/within-time.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { processKeys } from '../keys.ts'
import { luaScript } from '../redis/lua-script.ts'

/** The bounds between which a worker counts the times from acceptance to storage. */
export const STORAGE_BOUNDS_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600,
] as const

/**
 * The time that applying took is told as it was lately: a second so long ago counts for 1/e of a
 * second now. Divided by this, it is how many workers were busy on average.
 */
export const LATELY_SECONDS = 120

const count = v.pipe(v.number(), v.minValue(0))
const processReport = v.object({
  /** New at each start of a process, since its counts begin at 0 again. */
  id: v.string(),
  kind: v.picklist(['api', 'worker']),
  /** How long the process has been reporting. */
  upSeconds: count,
  /** Which queues a worker serves. */
  queues: v.array(v.string()),
  accepted: count,
  refused: count,
  /** Attempts at jobs that failed, whether or not another one followed. */
  failed: count,
  tagged: count,
  /** Submissions by the time until they were stored: a count for each bound, and one beyond. */
  stored: v.array(count),
  /** Seconds that applying took lately, in all, and of the workspaces that took most. */
  applying: v.object({ total: count, byWorkspace: v.record(v.string(), count) }),
  /**
   * Bytes of bodies that an API process has in hand and may have, and how many submissions it
   * refused since there were too many.
   */
  bodies: v.object({ bytes: count, mostBytes: count, refused: count }),
  loopDelaySeconds: count,
  postgresSeconds: v.nullable(count),
})
/**
 * What a process of this installation says about itself: counts since its start, and its condition.
 */
export type ProcessReport = v.InferOutput<typeof processReport>
export type ProcessFigures = Partial<Omit<ProcessReport, 'id' | 'kind' | 'upSeconds'>>

/** A process that has not reported for so long counts as gone. */
export const GONE_AFTER_MS = 10_000

const REPORT = luaScript('report-process')
const READ_REPORTS = luaScript('read-process-reports')

type WithReports = RedisClient & {
  reportProcess(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
  readProcessReports(numberOfKeys: number, ...rest: (string | number)[]): Promise<(string | null)[]>
}

export type ProcessReports = {
  report: (own: ProcessReport) => Promise<void>
  /** Takes back the report of a process that ends. */
  withdraw: (id: string) => Promise<void>
  /** The reports of the processes that are there. */
  read: () => Promise<ProcessReport[]>
}

/** All processes of an installation report here, so that any of them can show all reports. */
export const createProcessReports = (redis: RedisClient, prefix: string): ProcessReports => {
  redis.defineCommand('reportProcess', { lua: REPORT })
  redis.defineCommand('readProcessReports', { lua: READ_REPORTS })
  const withReports = redis as WithReports
  const { figures, seen } = processKeys(prefix)
  const keys = [figures, seen]
  return {
    report: async (own) => {
      await withReports.reportProcess(keys.length, ...keys, own.id, JSON.stringify(own), GONE_AFTER_MS)
    },
    withdraw: async (id) => {
      await Promise.all([redis.hdel(figures, id), redis.zrem(seen, id)])
    },
    read: async () => {
      const texts = await withReports.readProcessReports(keys.length, ...keys, GONE_AFTER_MS)
      return texts.flatMap((text) => {
        if (text === null) return []
        // The report of another version may have another form. It is left out, and breaks nothing.
        const parsed = v.safeParse(processReport, JSON.parse(text))
        return parsed.success ? [parsed.output] : []
      })
    },
  }
}

const MS_PER_SECOND = 1_000
const REPORT_EVERY_MS = 2_000
const WITHDRAW_WITHIN_MS = 1_000

/** Reports what `readFigures` gives, every `REPORT_EVERY_MS`, until it is stopped. */
export const startReporting = (
  reports: ProcessReports,
  { id, kind }: Pick<ProcessReport, 'id' | 'kind'>,
  readFigures: () => Promise<ProcessFigures>,
): { stop: () => Promise<void> } => {
  const beganAt = performance.now()
  let stopped = false
  let busy = false
  const report = async (): Promise<void> => {
    // While Redis is away, a worker's commands wait for it: one waiting report is enough.
    if (busy) return
    busy = true
    try {
      const upSeconds = (performance.now() - beganAt) / MS_PER_SECOND
      const own = { ...NOTHING, ...(await readFigures()), id, kind, upSeconds }
      if (!stopped) await reports.report(own)
    } catch {
      // The next report brings the same counts and more.
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
  queues: [],
  applying: { total: 0, byWorkspace: {} },
  bodies: { bytes: 0, mostBytes: 0, refused: 0 },
  loopDelaySeconds: 0,
  postgresSeconds: null,
}

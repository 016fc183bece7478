import * as v from 'valibot'
import { withinTime } from '../../runtime/within-time.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { processKeys } from '../keys.ts'

/** The bounds in the histogram of the time from acceptance to storage. */
export const STORAGE_BOUNDS_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600,
] as const

/**
 * The time that a worker spent on applying fades: a second of this age counts for 1/e. The sum of
 * all workers, divided by this constant, is the average number of busy workers.
 */
export const LATELY_SECONDS = 120

const count = v.pipe(v.number(), v.minValue(0))
const processReport = v.object({
  /** A new id at each start of a process, since its counts then start at 0. */
  id: v.string(),
  kind: v.picklist(['api', 'worker']),
  /** The time since the process started to report. */
  upSeconds: count,
  /** The queues that a worker serves. */
  queues: v.array(v.string()),
  /** WEBHOOK_ALLOWED_HOSTS of a worker. */
  allowedHosts: v.array(v.string()),
  accepted: count,
  refused: count,
  /** Failed attempts at jobs, with or without a retry. */
  failed: count,
  tagged: count,
  /** Submissions by their time until storage: a count for each bound, and one beyond the last. */
  stored: v.array(count),
  /** Recent seconds of applying, in all and for the workspaces that took most. */
  applying: v.object({ total: count, byWorkspace: v.record(v.string(), count) }),
  /**
   * Bytes of bodies that an API process has in hand, their bound, and how many requests the bound
   * has refused.
   */
  bodies: v.object({ bytes: count, mostBytes: count, refused: count }),
  loopDelaySeconds: count,
  postgresSeconds: v.nullable(count),
})
/** The report of a process: counts since its start, and its condition. */
export type ProcessReport = v.InferOutput<typeof processReport>
export type ProcessFigures = Partial<Omit<ProcessReport, 'id' | 'kind' | 'upSeconds'>>

/** The name of a worker's connection, as CLIENT LIST shows it. */
export const workerConnectionName = (prefix: string, id: string): string => `${prefix}:worker:${id}`

/** A process without a report for this time counts as gone. */
export const GONE_AFTER_MS = 10_000

type ProcessReports = {
  report: (own: ProcessReport) => Promise<void>
  /** Removes the report of a process that ends. */
  withdraw: (id: string) => Promise<void>
  /** The reports of all living processes. */
  read: () => Promise<ProcessReport[]>
}

/** API processes and workers report here, and any process can read all reports. */
export const createProcessReports = (redis: RedisClient, prefix: string): ProcessReports => {
  const { ids, report } = processKeys(prefix)
  const withdraw = async (id: string): Promise<void> => {
    await Promise.all([redis.unlink(report(id)), redis.srem(ids, id)])
  }
  const readOne = async (id: string): Promise<ProcessReport[]> => {
    const [text, leftMs] = await Promise.all([redis.get(report(id)), redis.pttl(report(id))])
    // A report with a longer time to live was written before the clock of Redis went back.
    if (text === null || leftMs > GONE_AFTER_MS) {
      await withdraw(id)
      return []
    }
    // A report of another version may have another form, and is skipped.
    const parsed = v.safeParse(processReport, JSON.parse(text))
    return parsed.success ? [parsed.output] : []
  }
  return {
    report: async (own) => {
      await Promise.all([
        redis.set(report(own.id), JSON.stringify(own), 'PX', GONE_AFTER_MS),
        redis.sadd(ids, own.id),
        redis.pexpire(ids, GONE_AFTER_MS),
      ])
    },
    withdraw,
    read: async () => (await Promise.all((await redis.smembers(ids)).map(readOne))).flat(),
  }
}

const MS_PER_SECOND = 1_000
const REPORT_EVERY_MS = 2_000
const WITHDRAW_WITHIN_MS = 1_000

/** Reports immediately, and then every two seconds until `stop`. A fault skips one report. */
export const startReporting = (
  reports: ProcessReports,
  { id, kind }: Pick<ProcessReport, 'id' | 'kind'>,
  readFigures: () => Promise<ProcessFigures>,
): { stop: () => Promise<void> } => {
  const beganAt = performance.now()
  let isStopped = false
  let isBusy = false
  const report = async (): Promise<void> => {
    // While Redis is away, commands of a worker wait for it. One waiting report is enough.
    if (isBusy) return
    isBusy = true
    try {
      const upSeconds = (performance.now() - beganAt) / MS_PER_SECOND
      const own = { ...NO_FIGURES, ...(await readFigures()), id, kind, upSeconds }
      if (!isStopped) await reports.report(own)
    } catch {
      // The next report has these counts as well.
    } finally {
      isBusy = false
    }
  }
  void report()
  const timer = setInterval(() => void report(), REPORT_EVERY_MS)
  return {
    stop: async () => {
      isStopped = true
      clearInterval(timer)
      await withinTime(reports.withdraw(id), WITHDRAW_WITHIN_MS).catch(() => {})
    },
  }
}

/** The figures of a process that has done nothing. */
export const NO_FIGURES = {
  accepted: 0,
  refused: 0,
  failed: 0,
  tagged: 0,
  stored: [],
  queues: [],
  allowedHosts: [],
  applying: { total: 0, byWorkspace: {} },
  bodies: { bytes: 0, mostBytes: 0, refused: 0 },
  loopDelaySeconds: 0,
  postgresSeconds: null,
}

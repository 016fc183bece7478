import type { LogTotals } from '../contract/ledger.ts'
import { QUEUE_NAMES } from '../contract/jobs.ts'
import { type ProcessReport, STORAGE_BOUNDS_SECONDS } from '../queue/jobs/process-reports.ts'
import { type Crowding, crowdingIn, type WorkspaceLoad } from './workspace-loads.ts'
import { type Condition, loadsIn } from './condition.ts'

type QueueCounts = { waiting: number; active: number; delayed: number; failed: number; oldestSeconds: number }

/**
 * The installation at one moment, for curves and findings. A member is null if it has no value or
 * could not be read.
 */
export type Point = Rates & {
  /** Milliseconds since 1970. */
  at: number
  redisUp: boolean
  postgresUp: boolean
  apis: number | null
  workers: number | null
  /** Workers that are connected to Redis and do not report. */
  silent: number | null
  /** Queues whose jobs no worker takes. */
  unserved: readonly string[] | null
  queues: Readonly<Record<string, QueueCounts>> | null
  /** Workspace loads, the heaviest first. */
  heaviest: readonly WorkspaceLoad[] | null
  crowding: Crowding | null
  /** Waiting and delayed jobs of all queues. */
  waiting: number | null
  /** Submissions that wait to be applied. */
  queued: number | null
  /** The age of the oldest submission or job that is not finished. */
  oldestSeconds: number | null
  dead: number | null
  /** The difference that is furthest from 0 in the ledgers, negative or positive. */
  difference: number | null
  /**
   * Workspaces whose ledgers miss accepted submissions. `difference` is the number of missing
   * submissions; the greatest is first.
   */
  missing: readonly { name: string; difference: number }[] | null
  /** Redis refuses all writes, since it cannot write to its disk. */
  redisCannotWrite: boolean | null
  redisUsedBytes: number | null
  redisMaxBytes: number | null
  /** The most bytes of bodies that one API process has in hand. */
  bytesInHand: number | null
  /** The highest share of its bound that an API process has in hand. */
  bytesShare: number | null
  /** Seconds until Postgres answers, in the slowest process. */
  postgresSeconds: number | null
  /** The delay of timers, in the slowest process. */
  loopDelaySeconds: number | null
  /** Purges whose records are being removed. */
  purgesUnderWay: number | null
  /** Keys that purges have removed. */
  purgedKeys: number | null
  /** Webhooks whose deliveries fail, and webhooks that have ended. */
  webhooksFailing: number | null
  webhooksEnded: number | null
  /** Changes that webhooks have not confirmed after several attempts. */
  changesUndelivered: number | null
}

const WORKSPACES_SHOWN = 10
const MICROSECONDS_PER_SECOND = 1_000_000
const MS_PER_SECOND = 1_000

/**
 * Derives a point from a condition. The rates and `storageSeconds` cover the time since the
 * condition `before`.
 */
export const pointOf = (condition: Condition, before: Condition | undefined): Point => {
  const { at, redis, queues, processes, postgresSeconds, purges, webhooks, logs, ledgers } = condition
  const loads = loadsIn(condition)
  return {
    at,
    redisUp: redis !== undefined,
    postgresUp: postgresSeconds !== undefined,
    apis: processes?.filter(({ kind }) => kind === 'api').length ?? null,
    workers: processes?.filter(({ kind }) => kind === 'worker').length ?? null,
    silent: condition.silent ?? null,
    unserved: processes ? unservedBy(processes) : null,
    ...rates(condition, before),
    queues: queues ? Object.fromEntries(queues.map(({ queue, ...depth }) => [queue, depth])) : null,
    heaviest: loads?.slice(0, WORKSPACES_SHOWN) ?? null,
    crowding: (loads && crowdingIn(loads)) ?? null,
    waiting: queues?.reduce((sum, { waiting, delayed }) => sum + waiting + delayed, 0) ?? null,
    queued: logs?.reduce((sum, { queued }) => sum + queued, 0) ?? null,
    oldestSeconds: highest([logs && oldestOf(logs, at), ...(queues ?? []).map((queue) => queue.oldestSeconds)]),
    dead: ledgers?.reduce((sum, { dead }) => sum + dead, 0) ?? null,
    difference: ledgers ? furthest(ledgers.map(({ difference }) => difference)) : null,
    missing: missingIn(condition),
    redisCannotWrite: redis?.cannotWrite ?? null,
    redisUsedBytes: redis?.usedBytes ?? null,
    redisMaxBytes: redis?.maxBytes ?? null,
    bytesInHand: highest((processes ?? []).map(({ bodies }) => bodies.bytes)),
    bytesShare: highest((processes ?? []).map(({ bodies: { bytes, mostBytes } }) => bytes / Math.max(1, mostBytes))),
    postgresSeconds: highest([postgresSeconds, ...(processes ?? []).map((process) => process.postgresSeconds)]),
    loopDelaySeconds: highest((processes ?? []).map(({ loopDelaySeconds }) => loopDelaySeconds)),
    purgesUnderWay: purges?.underWay ?? null,
    purgedKeys: purges?.purgedKeys ?? null,
    webhooksFailing: webhooks?.failing ?? null,
    webhooksEnded: webhooks?.ended ?? null,
    changesUndelivered: webhooks?.undelivered ?? null,
  }
}

/**
 * The age of the oldest submission that waits, in seconds. An acceptance number is a time of
 * Redis's clock, which can be ahead of this machine's clock.
 */
export const oldestOf = (logs: readonly LogTotals[], nowMs: number): number => {
  const oldest = logs.reduce((least, { oldestNumber }) => Math.min(least, oldestNumber ?? Infinity), Infinity)
  return Math.max(0, nowMs / MS_PER_SECOND - oldest / MICROSECONDS_PER_SECOND)
}

const unservedBy = (processes: readonly ProcessReport[]): string[] => {
  const workers = processes.filter(({ kind }) => kind === 'worker')
  return QUEUE_NAMES.filter((name) => !workers.some(({ queues }) => queues.includes(name)))
}

const missingIn = ({ ledgers, workspaces }: Condition): Point['missing'] => {
  if (!ledgers || !workspaces) return null
  return ledgers
    .filter(({ difference }) => difference > 0)
    .map(({ workspaceId, difference }) => ({ name: workspaces.get(workspaceId) ?? workspaceId, difference }))
    .toSorted((a, b) => b.difference - a.difference)
    .slice(0, WORKSPACES_SHOWN)
}

const furthest = (values: readonly number[]): number =>
  values.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0)

const highest = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value) => value != null)
  return known.length === 0 ? null : Math.max(...known)
}

/** A rate is null if the reports of either condition are missing. */
type Rates = {
  acceptedPerSecond: number | null
  refusedPerSecond: number | null
  storedPerSecond: number | null
  taggedPerSecond: number | null
  failedPerSecond: number | null
  /**
   * 95 % of the submissions that were applied since the previous point took at most this long. Null
   * if none were applied.
   */
  storageSeconds: number | null
  /** Submissions that were refused because an API process had too many bytes of bodies in hand. */
  refusedForBytesPerSecond: number | null
}

/** The first report of a process may arrive a few seconds after its start. */
const START_SECONDS = 5

const rates = (now: Condition, before: Condition | undefined): Rates => {
  const { processes } = now
  const former = before?.processes
  const seconds = (now.at - (before?.at ?? now.at)) / MS_PER_SECOND
  const isKnown = processes && former && seconds > 0
  const countedBefore = (report: ProcessReport): ProcessReport | undefined => {
    const own = former?.find(({ id }) => id === report.id)
    // A process without an earlier report has started since, or was silent and has a longer uptime.
    return own ?? (report.upSeconds > seconds + START_SECONDS ? report : undefined)
  }
  const grown = (read: (report: ProcessReport) => number): number =>
    (processes ?? []).reduce((sum, report) => {
      const counted = countedBefore(report)
      return sum + read(report) - (counted === undefined ? 0 : read(counted))
    }, 0)
  const perSecond = (read: (report: ProcessReport) => number): number | null => (isKnown ? grown(read) / seconds : null)
  const stored = [...STORAGE_BOUNDS_SECONDS, Infinity].map((_bound, at) => grown((report) => report.stored[at] ?? 0))
  const sum = stored.reduce((total, count) => total + count, 0)
  return {
    acceptedPerSecond: perSecond(({ accepted }) => accepted),
    refusedPerSecond: perSecond(({ refused }) => refused),
    refusedForBytesPerSecond: perSecond(({ bodies }) => bodies.refused),
    storedPerSecond: isKnown ? sum / seconds : null,
    taggedPerSecond: perSecond(({ tagged }) => tagged),
    failedPerSecond: perSecond(({ failed }) => failed),
    storageSeconds: isKnown && sum > 0 ? quantile(stored, 0.95 * sum) : null,
  }
}

/**
 * The value at a rank, by linear interpolation between two bounds. A rank above all bounds gets the
 * last bound.
 */
const quantile = (counts: readonly number[], rank: number): number => {
  let below = 0
  for (const [at, upper] of STORAGE_BOUNDS_SECONDS.entries()) {
    const count = counts[at] ?? 0
    const lower = STORAGE_BOUNDS_SECONDS[at - 1] ?? 0
    if (count > 0 && below + count >= rank) return lower + ((upper - lower) * (rank - below)) / count
    below += count
  }
  return STORAGE_BOUNDS_SECONDS.at(-1) ?? 0
}

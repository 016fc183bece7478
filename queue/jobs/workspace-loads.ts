import type { LogTotals } from '../../contract/ledger.ts'
import { MICROSECONDS_PER_MS } from '../keys.ts'
import { LATELY_SECONDS, type ProcessReport } from './process-reports.ts'

/** What a workspace takes of the installation at one moment. Shares are between 0 and 1. */
export type WorkspaceLoad = {
  id: string
  name: string
  /** Submissions that are queued, and their share of those of all workspaces. */
  waiting: number
  waitingShare: number
  /** Age of the oldest that waits; 0 when none does. */
  oldestSeconds: number
  /** Of the time that applying took all workers lately; 0 while it took little. */
  applyingShare: number
}

type Sources = {
  workspaces: readonly { id: string; name: string }[]
  logs: readonly LogTotals[]
  processes: readonly ProcessReport[]
  nowMs: number
}

/** While fewer workers than this are busy on average, no workspace holds up another. */
const LEAST_BUSY = 0.05
/** A workspace with nothing queued and a smaller share is not worth a line. */
const LEAST_SHARE = 0.01

/**
 * The loads of the workspaces that have any, the heaviest first. Deleted workspaces are left out.
 */
export const workspaceLoads = ({ workspaces, logs, processes, nowMs }: Sources): WorkspaceLoad[] => {
  const applyingShareOf = applyingShares(processes)
  const logOf = new Map(logs.map((log) => [log.workspaceId, log]))
  const allWaiting = Math.max(1, sum(logs.map(({ queued }) => queued)))
  return workspaces
    .map(({ id, name }): WorkspaceLoad => {
      const { queued = 0, oldestNumber = null } = logOf.get(id) ?? {}
      const oldestMs = queued === 0 || oldestNumber === null ? nowMs : oldestNumber / MICROSECONDS_PER_MS
      return {
        id,
        name,
        waiting: queued,
        waitingShare: queued / allWaiting,
        // The number is a time of Redis's clock, which can be a little ahead of this machine's.
        oldestSeconds: Math.max(0, nowMs - oldestMs) / 1_000,
        applyingShare: applyingShareOf(id),
      }
    })
    .filter(({ waiting, applyingShare }) => waiting > 0 || applyingShare >= LEAST_SHARE)
    .toSorted((one, other) => shareOf(other) - shareOf(one) || other.waiting - one.waiting)
}

const applyingShares = (processes: readonly ProcessReport[]): ((workspaceId: string) => number) => {
  const total = sum(processes.map(({ applying }) => applying.total))
  if (total < LEAST_BUSY * LATELY_SECONDS) return () => 0
  return (workspaceId) => sum(processes.map(({ applying }) => applying.byWorkspace[workspaceId] ?? 0)) / total
}

const shareOf = ({ waitingShare, applyingShare }: WorkspaceLoad): number => Math.max(waitingShare, applyingShare)

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

const MOST = 0.5
/**
 * Others are stored within milliseconds when all is well, and within two seconds beside the
 * heaviest.
 */
const OTHERS_WAIT_SECONDS = 10

/**
 * A workspace that has most of what is queued, or takes most of the workers' time, while others
 * wait; and for how long the others have waited.
 */
export type Crowding = WorkspaceLoad & { othersSeconds: number }

/** @param loads the heaviest first */
export const crowdingIn = ([heaviest, ...others]: readonly WorkspaceLoad[]): Crowding | undefined => {
  if (heaviest === undefined || shareOf(heaviest) <= MOST) return undefined
  const othersSeconds = others.reduce((longest, { oldestSeconds }) => Math.max(longest, oldestSeconds), 0)
  return othersSeconds < OTHERS_WAIT_SECONDS ? undefined : { ...heaviest, othersSeconds }
}

/** What a workspace that crowds others takes most of. */
export const takesMostOf = ({ waitingShare, applyingShare }: Crowding): string =>
  [
    ...(waitingShare > MOST ? ['has most of the waiting submissions'] : []),
    ...(applyingShare > MOST ? ["takes most of the workers' time"] : []),
  ].join(' and ')

export const AGAINST_CROWDING =
  'More workers help the other workspaces, not this one. If it sends too much, find the client, set SUBMISSIONS_PER_MINUTE, or revoke its token (npm run token).'

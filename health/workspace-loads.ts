import type { LogTotals } from '../contract/ledger.ts'
import { LATELY_SECONDS, type ProcessReport } from '../queue/jobs/process-reports.ts'
import { MICROSECONDS_PER_MS } from '../queue/keys.ts'

/** The load of a workspace on the installation. Shares are between 0 and 1. */
export type WorkspaceLoad = {
  id: string
  name: string
  /** The number of waiting submissions, and their share of all waiting submissions. */
  waiting: number
  waitingShare: number
  /** The age of the oldest waiting submission; 0 if none waits. */
  oldestSeconds: number
  /** The share of all time that workers spent on applying lately; 0 if workers are nearly idle. */
  applyingShare: number
}

type LoadSources = {
  /** The names of workspaces, by id. */
  workspaces: ReadonlyMap<string, string>
  logs: readonly LogTotals[]
  processes: readonly ProcessReport[]
  nowMs: number
}

/** If fewer workers than this are busy on average, no workspace delays another. */
const LEAST_BUSY = 0.05
/** A workspace without waiting submissions is left out if its `applyingShare` is smaller. */
const LEAST_SHARE = 0.01

/** The loads of all workspaces with a load, the heaviest first. Deleted workspaces are left out. */
export const workspaceLoads = ({ workspaces, logs, processes, nowMs }: LoadSources): WorkspaceLoad[] => {
  const applyingShareOf = createApplyingShares(processes)
  const logOf = new Map(logs.map((log) => [log.workspaceId, log]))
  const allWaiting = Math.max(1, sum(logs.map(({ queued }) => queued)))
  const ids = new Set([...logOf.keys(), ...processes.flatMap(({ applying }) => Object.keys(applying.byWorkspace))])
  return [...ids]
    .flatMap((id): WorkspaceLoad | [] => {
      const name = workspaces.get(id)
      if (name === undefined) return []
      const { queued = 0, oldestNumber = null } = logOf.get(id) ?? {}
      const oldestMs = queued === 0 || oldestNumber === null ? nowMs : oldestNumber / MICROSECONDS_PER_MS
      return {
        id,
        name,
        waiting: queued,
        waitingShare: queued / allWaiting,
        // The number is a time of Redis's clock, which can be a little ahead of this machine's
        // clock.
        oldestSeconds: Math.max(0, nowMs - oldestMs) / 1_000,
        applyingShare: applyingShareOf(id),
      }
    })
    .filter(({ waiting, applyingShare }) => waiting > 0 || applyingShare >= LEAST_SHARE)
    .toSorted((a, b) => shareOf(b) - shareOf(a) || b.waiting - a.waiting)
}

const createApplyingShares = (processes: readonly ProcessReport[]): ((workspaceId: string) => number) => {
  const total = sum(processes.map(({ applying }) => applying.total))
  if (total < LEAST_BUSY * LATELY_SECONDS) return () => 0
  return (workspaceId) => sum(processes.map(({ applying }) => applying.byWorkspace[workspaceId] ?? 0)) / total
}

const shareOf = ({ waitingShare, applyingShare }: WorkspaceLoad): number => Math.max(waitingShare, applyingShare)

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

/** A workspace with more than this share of waiting submissions or of time crowds others. */
const CROWDS_ABOVE_SHARE = 0.5
/**
 * In a healthy installation, submissions of other workspaces wait for two seconds at most, even
 * beside the heaviest workspace.
 */
const OTHERS_WAIT_SECONDS = 10

/**
 * A workspace that has most of the waiting submissions, or takes most of the workers' time, while
 * other workspaces wait. `othersSeconds`: the age of the oldest waiting submission of the others.
 */
export type Crowding = WorkspaceLoad & { othersSeconds: number }

/** @param loads the heaviest first */
export const crowdingIn = ([heaviest, ...others]: readonly WorkspaceLoad[]): Crowding | undefined => {
  if (heaviest === undefined || shareOf(heaviest) <= CROWDS_ABOVE_SHARE) return undefined
  const othersSeconds = others.reduce((longest, { oldestSeconds }) => Math.max(longest, oldestSeconds), 0)
  return othersSeconds < OTHERS_WAIT_SECONDS ? undefined : { ...heaviest, othersSeconds }
}

/** How a workspace crowds others, as the predicate of a sentence about the workspace. */
export const describeCrowding = ({ waitingShare, applyingShare }: Crowding): string =>
  [
    ...(waitingShare > CROWDS_ABOVE_SHARE ? ['has most of the waiting submissions'] : []),
    ...(applyingShare > CROWDS_ABOVE_SHARE ? ["takes most of the workers' time"] : []),
  ].join(' and ')

export const AGAINST_CROWDING =
  'More workers help the other workspaces, not this one. If a client sends too much, set SUBMISSIONS_PER_MINUTE, or revoke the token of the client (npm run token).'

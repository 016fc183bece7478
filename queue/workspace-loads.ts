import type { BookTotals } from '../contract/ledger.ts'
import { MICROSECONDS_PER_MS } from './keys.ts'
import { LATELY_SECONDS, type ProcessReport } from './process-reports.ts'

/** What a workspace takes of the installation at one moment. Shares are between 0 and 1. */
export type WorkspaceLoad = {
  id: string
  name: string
  /** Submissions that are accepted and not settled, and their share of those of all workspaces. */
  waiting: number
  waitingShare: number
  /** Age of the oldest that waits; 0 when none does. */
  oldestSeconds: number
  /** Of the time that the statements of all workers took lately; 0 while they took little. */
  laneShare: number
}

type Sources = {
  workspaces: readonly { id: string; name: string }[]
  books: readonly BookTotals[]
  processes: readonly ProcessReport[]
  nowMs: number
}

/** With less than this of one lane busy on average, nobody takes anything from anybody. */
const LEAST_LANES = 0.05
/** Who has nothing waiting and a smaller share of the lanes is not worth a line. */
const LEAST_LANE_SHARE = 0.01

/** The loads of the workspaces that have any, the heaviest first. What the workers say of a workspace that is no longer there is left out. */
export const workspaceLoads = ({ workspaces, books, processes, nowMs }: Sources): WorkspaceLoad[] => {
  const laneShareOf = laneShares(processes)
  const bookOf = new Map(books.map((book) => [book.workspaceId, book]))
  const allWaiting = Math.max(1, sum(books.map(({ queued }) => queued)))
  return workspaces
    .map(({ id, name }): WorkspaceLoad => {
      const { queued = 0, oldestNumber = null } = bookOf.get(id) ?? {}
      const oldestMs = queued === 0 || oldestNumber === null ? nowMs : oldestNumber / MICROSECONDS_PER_MS
      return {
        id,
        name,
        waiting: queued,
        waitingShare: queued / allWaiting,
        // The number is a time of Redis's clock, which can be a little ahead of this machine's.
        oldestSeconds: Math.max(0, nowMs - oldestMs) / 1_000,
        laneShare: laneShareOf(id),
      }
    })
    .filter(({ waiting, laneShare }) => waiting > 0 || laneShare >= LEAST_LANE_SHARE)
    .toSorted((one, other) => shareOf(other) - shareOf(one) || other.waiting - one.waiting)
}

const laneShares = (processes: readonly ProcessReport[]): ((workspaceId: string) => number) => {
  const total = sum(processes.map(({ lanes }) => lanes.total))
  if (total < LEAST_LANES * LATELY_SECONDS) return () => 0
  return (workspaceId) => sum(processes.map(({ lanes }) => lanes.byWorkspace[workspaceId] ?? 0)) / total
}

const shareOf = ({ waitingShare, laneShare }: WorkspaceLoad): number => Math.max(waitingShare, laneShare)

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

const MOST = 0.5
/** Others are stored within milliseconds when all is well, and within two seconds beside the heaviest. */
const OTHERS_WAIT_SECONDS = 10

/** A workspace that has most of what waits, or of the lanes, while others wait: who it is, and for how long others have waited. */
export type Crowding = WorkspaceLoad & { othersSeconds: number }

/** @param loads the heaviest first */
export const crowdingIn = ([heaviest, ...others]: readonly WorkspaceLoad[]): Crowding | undefined => {
  if (heaviest === undefined || shareOf(heaviest) <= MOST) return undefined
  const othersSeconds = others.reduce((longest, { oldestSeconds }) => Math.max(longest, oldestSeconds), 0)
  return othersSeconds < OTHERS_WAIT_SECONDS ? undefined : { ...heaviest, othersSeconds }
}

/** What a workspace that crowds others takes most of, in words. */
export const takesMostOf = ({ waitingShare, laneShare }: Crowding): string =>
  [
    ...(waitingShare > MOST ? ['has most of what waits'] : []),
    ...(laneShare > MOST ? ['takes most of the time in lanes'] : []),
  ].join(' and ')

export const AGAINST_CROWDING =
  'More workers help the others, not this one. If it should not send so much, ask who does, set SUBMISSIONS_PER_MINUTE, or revoke its token (npm run token).'

/** Counts from the log of a workspace. */
export type LogTotals = {
  workspaceId: string
  accepted: number
  /** Submissions that wait to be applied, replays included. */
  queued: number
  /** The acceptance number of the oldest queued submission: microseconds since 1970. */
  oldestNumber: number | null
  /** Bytes of the entries with queued submissions. */
  bytes: number
}

/**
 * How many submissions of a workspace have reached each final state. `removing`: decided purges
 * whose records are being removed.
 */
export type SettledTotals = { workspaceId: string } & Record<'applied' | 'superseded' | 'purged' | 'dead', number> & {
    removing: number
  }

/**
 * All accepted submissions of a workspace by state. A purge counts as queued until its records are
 * removed. `difference`: submissions that are neither queued nor settled. It is below 0 for a
 * moment while a worker applies submissions, and above 0 for a moment while a replay begins.
 */
export type Ledger = LogTotals & Omit<SettledTotals, 'removing'> & { difference: number }

/**
 * The ledgers of the workspaces of these logs. Read the logs before the totals: a submission that
 * is applied in between then counts twice and is never missing.
 */
export const ledgersOf = (logs: readonly LogTotals[], settled: readonly SettledTotals[]): Ledger[] => {
  const totals = new Map(settled.map((counts) => [counts.workspaceId, counts]))
  return logs.map((log) => {
    const { applied, superseded, purged, dead, removing } = totals.get(log.workspaceId) ?? NOTHING
    const queued = log.queued + removing
    const difference = log.accepted - queued - applied - superseded - purged - dead
    return { ...log, queued, applied, superseded, purged, dead, difference }
  })
}

const NOTHING = { applied: 0, superseded: 0, purged: 0, dead: 0, removing: 0 }

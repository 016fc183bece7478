/** What the log of a workspace says about its submissions. */
export type LogTotals = {
  workspaceId: string
  accepted: number
  /** Accepted and not applied. */
  queued: number
  /** Microseconds since 1970 at which the oldest queued submission was accepted. */
  oldestNumber: number | null
  /** Bytes of the entries that have queued submissions. */
  bytes: number
}

/**
 * How many submissions of a workspace are settled, by the state in which they ended. `removing`:
 * purges that are decided, and whose records are being removed.
 */
export type SettledTotals = { workspaceId: string } & Record<'applied' | 'superseded' | 'purged' | 'dead', number> & {
    removing: number
  }

/**
 * The accounts of a workspace. A purge counts as queued until its records are removed.
 * `difference`: accepted, but neither queued nor settled; 0 but for what is just being saved.
 */
export type Ledger = LogTotals & Omit<SettledTotals, 'removing'> & { difference: number }

/**
 * The ledgers of the workspaces that these logs are of. Read the logs before the totals: a
 * submission that is applied in between is then counted twice and is never missing.
 */
export const ledgersOf = (logs: readonly LogTotals[], settled: readonly SettledTotals[]): Ledger[] => {
  const totals = new Map(settled.map((one) => [one.workspaceId, one]))
  return logs.map((log) => {
    const { applied, superseded, purged, dead, removing } = totals.get(log.workspaceId) ?? NOTHING
    const queued = log.queued + removing
    const difference = log.accepted - queued - applied - superseded - purged - dead
    return { ...log, queued, applied, superseded, purged, dead, difference }
  })
}

const NOTHING = { applied: 0, superseded: 0, purged: 0, dead: 0, removing: 0 }

/** What the books in Redis say about the submissions of a workspace. */
export type BookTotals = {
  workspaceId: string
  accepted: number
  queued: number
  /** Microseconds since 1970 at which the oldest submission that is still queued was accepted. */
  oldestNumber: number | null
}

/** How many submissions of a workspace are settled, by the state in which they ended. */
export type SettledTotals = { workspaceId: string } & Record<'applied' | 'superseded' | 'purged' | 'dead', number>

/** The accounts of a workspace. `difference`: accepted, but neither queued nor settled; 0 but for what is just being settled. */
export type Ledger = BookTotals & SettledTotals & { difference: number }

/**
 * The ledgers of the workspaces that these books are of. Whoever reads them reads the books before the totals, so that a submission that is
 * settled in between is counted twice and is never missing.
 */
export const ledgersOf = (books: readonly BookTotals[], settled: readonly SettledTotals[]): Ledger[] => {
  const totals = new Map(settled.map((one) => [one.workspaceId, one]))
  return books.map((book) => {
    const { applied, superseded, purged, dead } = totals.get(book.workspaceId) ?? NOTHING
    const difference = book.accepted - book.queued - applied - superseded - purged - dead
    return { ...book, applied, superseded, purged, dead, difference }
  })
}

const NOTHING = { applied: 0, superseded: 0, purged: 0, dead: 0 }

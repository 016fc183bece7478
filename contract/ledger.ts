/** What the books of a workspace's queue say. */
export type BookTotals = {
  workspaceId: string
  accepted: number
  queued: number
  /** Microseconds since 1970 at which the oldest submission that is still queued was accepted. */
  oldestNumber: number | null
}

/** What the submissions of a workspace came to that are settled; each is counted by itself. */
export type SettledTotals = { workspaceId: string } & Record<'applied' | 'superseded' | 'purged' | 'dead', number>

/** What a workspace's submissions came to. `difference` is 0 when nothing is in flight. */
export type Ledger = BookTotals & SettledTotals & { difference: number }

type LedgerSources = {
  listWorkspaceIds: () => Promise<string[]>
  readBooks: (workspaceId: string) => Promise<BookTotals>
  readTotals: () => Promise<SettledTotals[]>
}

/**
 * The ledgers of all workspaces. The books are read before the totals, so that a submission which is settled meanwhile is counted
 * twice, and never missing.
 */
export const readLedgers = async ({ listWorkspaceIds, readBooks, readTotals }: LedgerSources): Promise<Ledger[]> => {
  const books = await Promise.all((await listWorkspaceIds()).map(readBooks))
  const totals = new Map((await readTotals()).map((settled) => [settled.workspaceId, settled]))
  return books.map((book) => {
    const { applied, superseded, purged, dead } = totals.get(book.workspaceId) ?? NOTHING
    const difference = book.accepted - book.queued - applied - superseded - purged - dead
    return { ...book, applied, superseded, purged, dead, difference }
  })
}

const NOTHING = { applied: 0, superseded: 0, purged: 0, dead: 0 }

import { type Ledger, ledgersOf, type LogTotals } from '../contract/ledger.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { readSettledTotals } from '../db/submissions/position.ts'
import { listPortion } from '../db/workspaces/workspaces.ts'
import { readLogTotals } from '../queue/log/log-totals.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'

/** The ledgers of all workspaces, as far as they are known. */
export type Ledgers = {
  /**
   * Reads some ledgers again, and returns all. `logs`: the logs with entries. Rejects if a server
   * does not answer.
   */
  read: (logs: readonly LogTotals[]) => Promise<Ledger[]>
  /** The names of the workspaces, by id; undefined until the first list of Postgres. */
  names: () => ReadonlyMap<string, string> | undefined
}

type LedgerStores = { sql: Sql; redis: RedisClient; prefix: string }

/** With more workspaces, a read covers the changing ones and the next ones in the order of ids. */
const READ_AT_ONCE = 500
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

/**
 * Keeps the ledgers between reads: the ledger of an idle workspace changes only when a server loses
 * data. A workspace counts as changing while its log has entries, and at one more read.
 */
export const createLedgers = (sources: LedgerStores, readAtOnce = READ_AT_ONCE): Ledgers => {
  const ledgers = new Map<string, Ledger>()
  const names = new Map<string, string>()
  const round = createRound(readAtOnce)
  let changing: readonly string[] = []
  let reading: Promise<void> | undefined

  const readSome = async (logs: readonly LogTotals[]): Promise<void> => {
    const withEntries = logs.map(({ workspaceId }) => workspaceId)
    const ids = [...new Set([...withEntries, ...changing])]
    const listed = await listPortion(sources.sql, { ids, after: round.after(), limit: readAtOnce })
    for (const { id, name } of listed) names.set(id, name)
    for (const ledger of await readLedgers(sources, [...new Set(listed.map(({ id }) => id))])) {
      ledgers.set(ledger.workspaceId, ledger)
    }
    changing = withEntries
    const all = round.goOn(listed.filter(({ isNext }) => isNext).map(({ id }) => id))
    const deleted = all === undefined ? [] : [...names.keys()].filter((id) => !all.has(id))
    for (const id of deleted) for (const known of [names, ledgers]) known.delete(id)
  }

  return {
    read: async (logs) => {
      // A second reading beside the first would skip a portion.
      await (reading ??= readSome(logs).finally(() => {
        reading = undefined
      }))
      return [...ledgers.values()]
    },
    names: () => (names.size === 0 ? undefined : names),
  }
}

const readLedgers = async (
  { sql, redis, prefix }: LedgerStores,
  workspaceIds: readonly string[],
): Promise<Ledger[]> => {
  // Read before the settled totals, as `ledgersOf` asks for.
  const totals = await readLogTotals(redis, prefix, workspaceIds)
  return ledgersOf(totals, await readSettledTotals(sql, workspaceIds))
}

type Round = {
  /** The id after which the next portion begins. */
  after: () => string
  /** After the last portion, returns the ids of the whole round. The others are deleted. */
  goOn: (portion: readonly string[]) => ReadonlySet<string> | undefined
}

/** A walk through all workspaces, again and again, in portions. */
const createRound = (portionSize: number): Round => {
  let after = BEFORE_ALL_IDS
  let seen = new Set<string>()
  return {
    after: () => after,
    goOn: (portion) => {
      for (const id of portion) seen.add(id)
      if (portion.length === portionSize) {
        after = portion.at(-1)!
        return undefined
      }
      const all = seen
      after = BEFORE_ALL_IDS
      seen = new Set()
      return all
    },
  }
}

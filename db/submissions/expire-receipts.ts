import type { Sql } from '../postgres.ts'

const ROWS_PER_STEP = 5_000

/** Deletes in steps the receipts of submissions that finished more than `days` ago, and returns how many. The ledger keeps their totals. */
export const expireReceipts = async (sql: Sql, days: number): Promise<number> => {
  let deleted = 0
  for (;;) {
    // Partitions have the same ctids, hence the condition twice: `+ interval '0'` keeps each step from reading all that has expired.
    const { count } = await sql`
      delete from submission
      where finished_at + interval '0' < ${expired(sql, days)} and state <> 'dead' and ctid = any (array(
        select ctid from submission where finished_at < ${expired(sql, days)} and state <> 'dead' limit ${ROWS_PER_STEP}))`
    deleted += count
    if (count < ROWS_PER_STEP) return deleted
  }
}

const expired = (sql: Sql, days: number) => sql`now() - make_interval(days => ${days})`

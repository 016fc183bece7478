import type { Sql } from '../postgres.ts'

const ROWS_PER_STEP = 5_000

/** Deletes in steps the receipts of submissions that finished more than `days` ago, and returns how many. The ledger keeps their totals. */
export const expireReceipts = async (sql: Sql, days: number): Promise<number> => {
  let deleted = 0
  for (;;) {
    const { count } = await sql`
      delete from submission where ctid = any (array(
        select ctid from submission
        where finished_at < now() - make_interval(days => ${days}) and state <> 'dead' limit ${ROWS_PER_STEP}))`
    deleted += count
    if (count < ROWS_PER_STEP) return deleted
  }
}

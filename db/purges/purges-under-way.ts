import type { Sql } from '../postgres.ts'

export type PurgesUnderWay = { underWay: number; fences: number }

/** Counts the purges whose records are being removed, and the fences that all purges have left. */
export const countPurges = async (sql: Sql): Promise<PurgesUnderWay> => {
  const [row] = await sql<PurgesUnderWay[]>`
    select (select count(*) from purge)::float8 as "underWay", (select count(*) from fence)::float8 as fences`
  return row!
}

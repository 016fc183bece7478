import type { Sql } from './connection/postgres.ts'

/** After this many changes, the feedback among them is added to the sums. */
const CHANGES_DUE = 4_000

/** Which of the workspaces have much feedback to add to their sums, or sums that have to start again. */
export const listToSum = async (sql: Sql, workspaceIds: readonly string[]): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select distinct p.workspace_id as id
    from workspace_progress as p left join source as s on s.workspace_id = p.workspace_id
      and (s.summed_low is distinct from s.scale_low or s.summed_high is distinct from s.scale_high)
    where p.workspace_id = any (${[...workspaceIds]}::uuid[]) and (p.unsummed >= ${CHANGES_DUE}
      or p.summed_position is null or (p.summed_position > 0 and s.source is not null))`
  return rows.map(({ id }) => id)
}

/** Takes at most this many steps. Returns how many there were. */
export const sumFeedback = async (sql: Sql, workspaceId: string, most: number): Promise<number> => {
  for (let steps = 1; steps <= most; steps++) {
    const [row] = await sql<[{ hasMore: boolean }]>`select sum_step(${workspaceId}::uuid) as "hasMore"`
    if (!row.hasMore) return steps
  }
  return most
}

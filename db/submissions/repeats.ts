import type { Sql } from '../postgres.ts'

/** How many steps of a workspace upkeep takes at once; each looks at a thousand rows at most. */
const STEPS_AT_ONCE = 20

/** The workspaces of which rows may be left that only repeat others. */
export const workspacesWithRepeats = async (sql: Sql): Promise<string[]> =>
  (await sql<{ id: string }[]>`select distinct workspace_id as id from repeat_left`).map(({ id }) => id)

/** Takes out rows of a workspace that only repeat others. Everything that was accepted up to `settledThrough` is settled or dead. */
export const leaveOutRepeats = async (sql: Sql, workspaceId: string, settledThrough: number): Promise<void> => {
  for (let step = 0; step < STEPS_AT_ONCE; step++) {
    const [row] = await sql<{ looked: number }[]>`select leave_out_left(${workspaceId}, ${settledThrough}) as looked`
    if (row!.looked === 0) return
  }
}

import type { Sql } from '../connection/postgres.ts'

/** Moves the remaining records of absorbed contacts and accounts of a workspace, in steps. */
export const moveRecords = async (sql: Sql, workspaceId: string): Promise<void> => {
  for (;;) {
    const [row] = await sql<{ is_more: boolean }[]>`select move_step(${workspaceId}) as is_more`
    if (!row!.is_more) return
  }
}

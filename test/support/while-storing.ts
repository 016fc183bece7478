import type { SubmissionJob } from '../../contract/job.ts'
import { describeFault } from '../../process/fault.ts'
import type { Sql } from '../../db/postgres.ts'
import { store } from '../../db/store.ts'
import { toRows } from './deliveries.ts'

const WORKERS = 4

/**
 * Stores a history again and again, by several workers, for as long as something else is done; throws what any of them met, but for being
 * told to wait while tables change.
 */
export const whileStoring = async (
  sql: Sql,
  history: readonly SubmissionJob[],
  doSomething: () => Promise<unknown>,
): Promise<void> => {
  const rows = history.map(toRows)
  const workspaces = rows.map(({ workspaceId }) => workspaceId)
  await sql`
    insert into workspace (id, name) select w, w::text from unnest(${workspaces}::uuid[]) as w
    on conflict do nothing`
  const ended = new AbortController()
  const work = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await store(sql, rows).catch((error: unknown) => {
        if (!describeFault(error).endsWith(' 57P03')) throw error
      })
    }
  }
  const workers = Promise.all(Array.from({ length: WORKERS }, work))
  try {
    await doSomething()
  } finally {
    ended.abort()
    await workers
  }
}

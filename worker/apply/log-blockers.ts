import { findBlockers } from '../../db/connection/blockers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Logger } from '../../runtime/logger.ts'

const CHECK_EVERY_MS = 3_000

type Context = { sql: Sql; log: Logger; workspaceIds: readonly string[] }

/** Does work in Postgres, and logs once the sessions of other programs whose locks delay it. */
export const logBlockers = async <T>({ sql, log, workspaceIds }: Context, work: () => Promise<T>): Promise<T> => {
  const check = async (): Promise<void> => {
    const blockers = await findBlockers(sql).catch(() => [])
    if (blockers.length > 0) clearInterval(timer)
    for (const { pid, role, program, seconds } of blockers) {
      log('warn', 'waiting_for_lock', { workspaceIds, seconds, pid, role, program })
    }
  }
  const timer = setInterval(() => void check(), CHECK_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

import { findBlockers } from '../../db/connection/blockers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Logger } from '../../runtime/logger.ts'

const LOOK_EVERY_MS = 3_000

type Told = { sql: Sql; log: Logger; workspaceIds: readonly string[] }

/** Does work in Postgres, and logs once which sessions of others hold it up by their locks. */
export const logBlockers = async <T>({ sql, log, workspaceIds }: Told, work: () => Promise<T>): Promise<T> => {
  const look = async (): Promise<void> => {
    const blockers = await findBlockers(sql).catch(() => [])
    if (blockers.length > 0) clearInterval(looking)
    for (const { pid, role, program, seconds } of blockers) {
      log('warn', 'waiting_for_lock', { workspaceIds, seconds, pid, role, program })
    }
  }
  const looking = setInterval(() => void look(), LOOK_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(looking)
  }
}

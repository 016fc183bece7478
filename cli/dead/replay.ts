import { markReplayed, type ReplayRefusal } from '../../db/submissions/dead.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { readPosition } from '../../db/submissions/position.ts'
import type { Log } from '../../queue/log/log.ts'
import type { Wake } from '../../queue/jobs/wake.ts'

export type ReplayStores = { sql: Sql; log: Log; wake: Wake }

/**
 * The submission is queued again, or the reason why not. `being-purged` passes when the purge ends;
 * the other reasons stay.
 */
export type ReplayOutcome = 'queued' | ReplayRefusal

/**
 * Appends a dead submission to the log again, under its id and with a new number. It does not
 * replace data of newer submissions. If this process dies after the mark, a worker's maintenance
 * appends the submission.
 */
export const replay = async (
  { sql, log, wake }: ReplayStores,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<ReplayOutcome> => {
  const { outcome, submission } = await markReplayed(sql, workspaceId, id)
  if (submission === null) return outcome
  await log.append([submission], await readPosition(sql, workspaceId))
  void wake.wake(workspaceId, { submissions: 1, isDeep: false })
  return outcome
}

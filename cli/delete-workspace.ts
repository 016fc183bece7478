import { setTimeout as wait } from 'node:timers/promises'
import { TOKEN_REMEMBERED_MS } from '../contract/limits.ts'
import { beginDeletion, countOwnedRows, deleteOwnedRows, endDeletion } from '../db/workspaces/delete-workspace.ts'
import type { Sql } from '../db/connection/postgres.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { forgetWorkspace } from '../queue/log/forget-workspace.ts'
import type { ProgressBar } from './progress-bar.ts'

type DeletionStores = { sql: Sql; redis: RedisClient; prefix: string }

type DeletionProgress = Pick<ProgressBar, 'note' | 'set'>

/**
 * The time for the admission of requests whose tokens were looked up before the deletion. The
 * maintenance of the workers removes the keys of slower requests.
 */
const UNDER_WAY_MS = 2_000

/**
 * Deletes a workspace with its tokens, its rows and its keys in Redis. Returns the numbers of
 * deleted rows and keys. The first step removes the position of the workspace. From then on no
 * worker can save rows for the workspace. A second call continues an interrupted deletion. The row
 * of the workspace is deleted last, since callers find the workspace by this row.
 *
 * @param startProgress gets the number of rows.
 */
export const deleteWorkspace = async (
  { sql, redis, prefix }: DeletionStores,
  workspaceId: string,
  startProgress: (total: number) => DeletionProgress,
): Promise<{ rows: number; keys: number }> => {
  const begunForMs = await beginDeletion(sql, workspaceId)
  const tokensForgottenAt = performance.now() + TOKEN_REMEMBERED_MS + UNDER_WAY_MS - begunForMs
  const progress = startProgress(await countOwnedRows(sql, workspaceId))
  progress.note('removes queued submissions')
  let keys = await forgetWorkspace(redis, prefix, workspaceId)
  progress.note('removes stored records')
  const rows = await deleteOwnedRows(sql, workspaceId, progress.set)
  progress.note('waits until no API process knows its tokens')
  await wait(Math.max(0, tokensForgottenAt - performance.now()))
  for (;;) {
    const more = await forgetWorkspace(redis, prefix, workspaceId)
    if (more === 0) break
    keys += more
  }
  await endDeletion(sql, workspaceId)
  return { rows, keys }
}

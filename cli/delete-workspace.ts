import { setTimeout as wait } from 'node:timers/promises'
import { TOKEN_REMEMBERED_MS } from '../contract/limits.ts'
import { beginDeletion, countOwnedRows, deleteOwnedRows, endDeletion } from '../db/workspaces/delete-workspace.ts'
import type { Sql } from '../db/connection/postgres.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { forgetWorkspace } from '../queue/log/forget-workspace.ts'
import type { ProgressBar } from './progress-bar.ts'

type Stores = { sql: Sql; redis: RedisClient; prefix: string }

type DeletionProgress = Pick<ProgressBar, 'note' | 'set'>

/**
 * Requests whose tokens were looked up before the deletion are admitted within this time, except
 * requests with slow bodies.
 */
const UNDER_WAY_MS = 2_000

/**
 * Deletes a workspace with its tokens, its rows and its keys in Redis. Returns the numbers of
 * deleted rows and keys. The first step removes the position of the workspace: from then on no
 * worker can save rows for it. Each step can be repeated, so an interrupted deletion continues when
 * it is started again. The row of the workspace is deleted last, so that a repetition finds the
 * workspace by its name.
 *
 * @param startProgress gets the number of rows.
 */
export const deleteWorkspace = async (
  { sql, redis, prefix }: Stores,
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

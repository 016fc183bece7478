import { readPositions } from '../../db/submissions/position.ts'
import { listWorkspaceIds } from '../../db/workspaces/workspaces.ts'
import { readNotedPositions, sweepLogs } from '../../queue/log/sweep.ts'
import type { Service } from './service.ts'

/** By then the wake of an entry has arrived, unless the process that admitted the entry died. */
const WAITED_MS = 3_000
/**
 * With this many wake jobs waiting, more would only pile up: all workers are busy, or the queue is
 * paused.
 */
const MOST_WAITING_JOBS = 1_000

/**
 * Wakes workspaces with waiting entries that no worker applies, and trims applied entries. If
 * Postgres is behind Redis, because a standby was promoted, the entries since then wait again.
 */
export const sweepAllLogs: Service = {
  name: 'sweep-logs',
  everyMs: 2_000,
  run: async ({ sql, redis, prefix, queues, wake, redoMs }) => {
    const workspaceIds = await listWorkspaceIds(sql)
    const noted = await readNotedPositions(redis, prefix, workspaceIds)
    const behind = [...(await readPositions(sql))].filter(([id, position]) => position < (noted.get(id) ?? 0))
    const settings = { workspaceIds, waitedMs: WAITED_MS, redoMs: redoMs(), positions: new Map(behind) }
    const { toWake } = await sweepLogs(redis, prefix, settings)
    const isPilingUp = (await queues.wake.getWaitingCount()) > MOST_WAITING_JOBS
    const woken = toWake.filter(({ isDeep }) => isDeep || !isPilingUp)
    await Promise.all(woken.map(({ workspaceId, isDeep }) => wake.wake(workspaceId, { submissions: 0, isDeep })))
    return { woken: woken.length }
  },
}

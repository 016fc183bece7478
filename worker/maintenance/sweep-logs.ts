import { readPositions } from '../../db/submissions/position.ts'
import { listWorkspaceIds } from '../../db/workspaces/workspaces.ts'
import { readNotedPositions, sweepLogs } from '../../queue/log/sweep.ts'
import type { Service } from './service.ts'

/** The wake that belongs to an entry has come by then, unless the process that admitted it died. */
const WAITED_MS = 3_000
/**
 * With so many wake jobs waiting, more of them would only pile up: each worker is busy, or the
 * queue is paused.
 */
const MOST_WAITING_JOBS = 1_000

/**
 * Wakes the workspaces whose entries wait and that no worker has in hand, and trims applied
 * entries. Where Postgres is behind what Redis knows, because a standby was promoted, its entries
 * wait again.
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

import { listBegunReplays } from '../../db/submissions/dead.ts'
import { readPosition } from '../../db/submissions/position.ts'
import { createLog, type Log } from '../../queue/log/log.ts'
import type { MaintenanceDependencies, Service } from './service.ts'

const AFTER_MS = 30_000
/** The most replays of one run, the oldest first. */
const LOOKED_AT = 20

/**
 * Appends submissions whose replay has begun but that are not in the log: the process died before
 * it appended them.
 */
export const finishReplays: Service = {
  name: 'finish-replays',
  everyMs: 10_000,
  run: async (dependencies) => {
    const log = createLog(dependencies.redis, dependencies.prefix)
    const begun = await listBegun(dependencies)
    const workspaceIds = [...new Set(begun.map(({ workspaceId }) => workspaceId))]
    const waiting = new Set((await Promise.all(workspaceIds.map((id) => waitingIds(log, id)))).flat())
    // This second list leaves out replays that were applied while the logs were read.
    const left = begun.length === 0 ? [] : await listBegun(dependencies)
    const lost = left.filter(({ workspaceId, id }) => workspaceIds.includes(workspaceId) && !waiting.has(id))
    for (const { workspaceId, submission } of lost) {
      await log.append([submission], await readPosition(dependencies.sql, workspaceId))
      await dependencies.wake.wake(workspaceId, { submissions: 1, isDeep: false })
    }
    return { replaysFinished: lost.length }
  },
}

const listBegun = ({ sql }: MaintenanceDependencies) => listBegunReplays(sql, { afterMs: AFTER_MS, limit: LOOKED_AT })

const waitingIds = async (log: Log, workspaceId: string): Promise<string[]> => {
  const ids: string[] = []
  for await (const { submissionId } of log.readWaiting(workspaceId)) ids.push(submissionId)
  return ids
}

import type { Submission } from '../contract/submission.ts'
import { listBegunReplays, markReplayed, takeDueRetries } from '../db/submissions/dead.ts'
import { readPosition } from '../db/submissions/position.ts'
import type { Wake } from '../queue/jobs/job-queues.ts'
import type { Log } from '../queue/log/log.ts'
import { isNearlyFull, readRedisCondition } from '../queue/redis/redis-condition.ts'
import type { WorkerStores } from './config.ts'

type ReplayDependencies = Pick<WorkerStores, 'sql' | 'redis' | 'logs'> & { wake: Wake }

/** In this time a process appends the submission whose replay it has begun, unless it died. */
const REPLAY_BEGUN_MS = 30_000
/** The most replays of one run, the oldest first. */
const REPLAYS_LOOKED_AT = 20

/**
 * Finishes replays of processes that died: appends the submissions whose replay has begun and that
 * are not in the log. Returns how many.
 */
export const finishBegunReplays = async (dependencies: ReplayDependencies): Promise<number> => {
  const begun = await listBegun(dependencies)
  const workspaceIds = [...new Set(begun.map(({ workspaceId }) => workspaceId))]
  const waiting = new Set((await Promise.all(workspaceIds.map((id) => waitingIds(dependencies.logs, id)))).flat())
  // This second list leaves out replays that were applied while the logs were read.
  const left = begun.length === 0 ? [] : await listBegun(dependencies)
  const lost = left.filter(({ workspaceId, id }) => workspaceIds.includes(workspaceId) && !waiting.has(id))
  for (const { submission } of lost) await append(dependencies, submission)
  return lost.length
}

const listBegun = ({ sql }: ReplayDependencies) =>
  listBegunReplays(sql, { afterMs: REPLAY_BEGUN_MS, limit: REPLAYS_LOOKED_AT })

const waitingIds = async (logs: Log, workspaceId: string): Promise<string[]> => {
  const ids: string[] = []
  for await (const { submissionId } of logs.readWaiting(workspaceId)) ids.push(submissionId)
  return ids
}

/** The most dead submissions that one run replays. */
const RETRIES_AT_ONCE = 100

/** Replays the dead submissions whose retry is due (`set_aside` in dead.sql). Returns how many. */
export const replayDueRetries = async (dependencies: ReplayDependencies): Promise<number> => {
  const { sql, redis } = dependencies
  if (isNearlyFull(await readRedisCondition(redis))) return 0
  let retried = 0
  for (const { workspaceId, id } of await takeDueRetries(sql, RETRIES_AT_ONCE)) {
    const { submission } = await markReplayed(sql, workspaceId, id)
    if (submission === null) continue
    await append(dependencies, submission)
    retried++
  }
  return retried
}

const append = async ({ sql, logs, wake }: ReplayDependencies, submission: Submission): Promise<void> => {
  const { workspaceId } = submission
  await logs.append([submission], await readPosition(sql, workspaceId))
  await wake.wake(workspaceId, { submissions: 1, isDeep: false })
}

import type { LogTotals } from '../../contract/ledger.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { workspaceKeys } from '../keys.ts'
import { listLogs } from './groups.ts'

/** The workspaces of one group of commands. Admissions wait while Redis answers the group. */
const ASKED_AT_ONCE = 500

/** The totals of the log of each workspace, in the order of the workspaces. */
export const readLogTotals = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<LogTotals[]> => {
  const totals: LogTotals[] = []
  for (let at = 0; at < workspaceIds.length; at += ASKED_AT_ONCE) {
    const asked = workspaceIds.slice(at, at + ASKED_AT_ONCE)
    totals.push(...(await Promise.all(asked.map((id) => totalsOf(redis, prefix, id)))))
  }
  return totals
}

const totalsOf = async (redis: RedisClient, prefix: string, workspaceId: string): Promise<LogTotals> => {
  const fields = await redis.hmget(workspaceKeys(prefix, workspaceId).state, ...FIELDS)
  const [appended, appendedAgain, done, bytes, doneBytes, oldest] = fields.map(Number) as Six
  const queued = appended - done
  return {
    workspaceId,
    accepted: appended - appendedAgain,
    queued,
    oldestNumber: queued === 0 ? null : oldest,
    bytes: bytes - doneBytes,
  }
}

const FIELDS = ['appended', 'again', 'done', 'bytes', 'doneBytes', 'oldest']
type Six = [number, number, number, number, number, number]

/** The number of waiting submissions in all workspaces. */
export const countQueued = async (redis: RedisClient, prefix: string): Promise<number> => {
  const totals = await readLogTotals(redis, prefix, await listLogs(redis, prefix))
  return totals.reduce((sum, { queued }) => sum + queued, 0)
}

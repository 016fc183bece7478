import type { Receipt } from '../../contract/receipt.ts'
import type { Submission } from '../../contract/submission.ts'
import { MICROSECONDS_PER_MS, workspaceKeys } from '../keys.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { admittedMs, readEntry } from './log-entry.ts'

/** One entry can be as large as a conversation. */
const ENTRIES_AT_ONCE = 4

export const readWaiting = async function* (
  redis: RedisClient,
  prefix: string,
  workspaceId: string,
): AsyncGenerator<Submission> {
  const { log } = workspaceKeys(prefix, workspaceId)
  const applied = await readApplied(redis, prefix, workspaceId)
  let from = `(${applied}-0`
  for (;;) {
    const entries = await redis.xrange(log, from, '+', 'COUNT', ENTRIES_AT_ONCE)
    for (const [, [, value]] of entries) {
      yield* readEntry(workspaceId, value!).filter(({ number }) => number > applied)
    }
    if (entries.length < ENTRIES_AT_ONCE) return
    from = `(${entries.at(-1)![0]}`
  }
}

const readApplied = async (redis: RedisClient, prefix: string, workspaceId: string): Promise<number> =>
  Number((await redis.hget(workspaceKeys(prefix, workspaceId).state, 'applied')) ?? 0)

/** Numbers of an entry exceed its first number by less than this. */
const MOST_PLACES = 500

/**
 * The receipt of a waiting submission. The time in the id gives the range of its entry. A
 * submission that was appended again is not found. A replay has its receipt in Postgres. A
 * submission that a failover lost has no receipt until a worker applies it.
 */
export const findQueued = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<Receipt | undefined> => {
  const { log } = workspaceKeys(prefix, workspaceId)
  const first = admittedMs(id) * MICROSECONDS_PER_MS
  const entries = await redis.xrange(log, `${first}-0`, `${first + MICROSECONDS_PER_MS + MOST_PLACES}-0`)
  const found = entries
    .flatMap(([, [, value]]) => readEntry(workspaceId, value!))
    .find(({ submissionId }) => submissionId === id)
  if (found === undefined || found.number <= (await readApplied(redis, prefix, workspaceId))) return undefined
  return {
    id,
    operation: found.operation,
    state: 'queued',
    attempts: 0,
    acceptedAt: new Date(Math.floor(found.number / MICROSECONDS_PER_MS)).toISOString(),
    finishedAt: null,
    error: null,
  }
}

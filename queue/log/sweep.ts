import type { RedisClient } from '../redis/connect-redis.ts'
import { workspaceKeys } from '../keys.ts'
import { defineWorkspaceScript } from '../redis/lua-script.ts'

type Sweep = {
  workspaceIds: readonly string[]
  /** A log without a lease is woken once its oldest submission has waited this long. */
  waitedMs: number
  redoMs: number
  /** Positions in Postgres. A noted position that is ahead moves back. */
  positions?: ReadonlyMap<string, number>
}

/** Most of these workspaces have no entries, so one call does not block Redis for long. */
const WORKSPACES_AT_ONCE = 100

/** Trims entries that were applied long ago, and returns the workspaces to wake. */
export const sweepLogs = async (
  redis: RedisClient,
  prefix: string,
  { workspaceIds, waitedMs, redoMs, positions }: Sweep,
): Promise<{ workspaceId: string; isDeep: boolean }[]> => {
  const sweep = defineWorkspaceScript<0 | 1 | 2>({ redis, prefix }, { name: 'sweep', atOnce: WORKSPACES_AT_ONCE })
  const answers = await sweep(
    [waitedMs, redoMs],
    workspaceIds.map((workspaceId) => ({ workspaceId, values: [positions?.get(workspaceId) ?? ''] })),
  )
  return workspaceIds.flatMap((workspaceId, at) =>
    answers[at] === 0 ? [] : { workspaceId, isDeep: answers[at] === 2 },
  )
}

/**
 * The noted positions of workspaces. Read them before the positions in Postgres. A lower position
 * in Postgres then shows lost commits. In the other order, it can also show that a worker committed
 * between the two reads.
 */
export const readNotedPositions = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<Map<string, number>> => {
  const noted = await Promise.all(workspaceIds.map((id) => redis.hget(workspaceKeys(prefix, id).state, 'applied')))
  return new Map(workspaceIds.map((id, at) => [id, Number(noted[at] ?? 0)]))
}

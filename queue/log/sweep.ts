import type { RedisClient } from '../redis/connect-redis.ts'
import { workspaceKeys } from '../keys.ts'
import { defineWorkspaceScript } from '../redis/lua-script.ts'

type Sweep = {
  workspaceIds: readonly string[]
  /** A log without a lease whose oldest submission has waited this long has missed its wake. */
  waitedMs: number
  redoMs: number
  /**
   * Positions in Postgres. A failover can lose the last commits: the kept entries then have to be
   * applied again.
   */
  positions?: ReadonlyMap<string, number>
}

/** Maintenance sweeps all workspaces often, and few of them have entries. */
const WORKSPACES_AT_ONCE = 100

/** Trims entries that were applied long ago, and finds the logs that no worker applies. */
export const sweepLogs = async (
  redis: RedisClient,
  prefix: string,
  { workspaceIds, waitedMs, redoMs, positions }: Sweep,
): Promise<{ toWake: { workspaceId: string; isDeep: boolean }[] }> => {
  const sweep = defineWorkspaceScript<0 | 1 | 2>({ redis, prefix }, { name: 'sweep', atOnce: WORKSPACES_AT_ONCE })
  const answers = await sweep(
    [waitedMs, redoMs],
    workspaceIds.map((workspaceId) => ({ workspaceId, values: [positions?.get(workspaceId) ?? ''] })),
  )
  return {
    toWake: workspaceIds.flatMap((workspaceId, at) =>
      answers[at] === 0 ? [] : { workspaceId, isDeep: answers[at] === 2 },
    ),
  }
}

/**
 * The noted positions of workspaces. Read them before the positions in Postgres: a position in
 * Postgres below an earlier noted one shows lost commits. In the other order, it may just be older.
 */
export const readNotedPositions = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<Map<string, number>> => {
  const noted = await Promise.all(workspaceIds.map((id) => redis.hget(workspaceKeys(prefix, id).state, 'applied')))
  return new Map(workspaceIds.map((id, at) => [id, Number(noted[at] ?? 0)]))
}

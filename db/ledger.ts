import type { RedisClient } from './redis.ts'
import { admissionKeys } from './admission-keys.ts'
import type { Sql } from './postgres.ts'

/** What a workspace's submissions came to; each is counted by itself. `difference` is 0 when nothing is in flight. */
export type Ledger = {
  workspaceId: string
  accepted: number
  queued: number
  applied: number
  superseded: number
  purged: number
  dead: number
  difference: number
  /** Microseconds since 1970 at which the oldest submission that is still queued was accepted. */
  oldestNumber: number | null
}

type Totals = Record<'applied' | 'superseded' | 'purged' | 'dead', number>

/** The ledgers of all workspaces. What is queued is read first, so that what settles meanwhile is counted twice, not lost. */
export const readLedgers = async (sql: Sql, redis: RedisClient, prefix: string): Promise<Ledger[]> => {
  const workspaces = await sql<{ id: string }[]>`select id from workspace order by id`
  const books = await Promise.all(workspaces.map(({ id }) => readBooks(redis, prefix, id)))
  const totals = await sql<({ workspaceId: string } & Totals)[]>`
    select workspace_id as "workspaceId",
      coalesce(sum(submissions) filter (where state = 'applied'), 0)::float8 as applied,
      coalesce(sum(submissions) filter (where state = 'superseded'), 0)::float8 as superseded,
      coalesce(sum(submissions) filter (where state = 'purged'), 0)::float8 as purged,
      coalesce(sum(submissions) filter (where state = 'dead'), 0)::float8 as dead
    from ledger group by workspace_id`
  return books.map((book) => {
    const { applied, superseded, purged, dead } =
      totals.find(({ workspaceId }) => workspaceId === book.workspaceId) ?? NOTHING
    const difference = book.accepted - book.queued - applied - superseded - purged - dead
    return { ...book, applied, superseded, purged, dead, difference }
  })
}

const NOTHING: Totals = { applied: 0, superseded: 0, purged: 0, dead: 0 }

const readBooks = async (redis: RedisClient, prefix: string, workspaceId: string) => {
  const name = admissionKeys(prefix, workspaceId)
  // Both in one step, or a purge that is decided in between would be in neither.
  const counts = await redis.multi().zcard(name.outstanding).zcard(name.removing).exec()
  const queued = (counts ?? []).reduce((sum, [, count]) => sum + Number(count), 0)
  const [accepted, oldest] = await Promise.all([
    redis.hget(name.ledger, 'accepted'),
    redis.zrange(name.outstanding, '0', '0', 'WITHSCORES'),
  ])
  return {
    workspaceId,
    accepted: Number(accepted ?? 0),
    queued,
    oldestNumber: oldest[1] === undefined ? null : Number(oldest[1]),
  }
}

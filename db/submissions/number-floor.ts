import type { Sql } from '../connection/postgres.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { readPosition } from './position.ts'

/**
 * While Postgres is away, the API keeps accepting submissions, and asks Postgres again after this
 * time.
 */
const ASK_AGAIN_AFTER_MS = 5_000
const ASK_TIMEOUT_MS = 500

type NumberFloor = {
  /**
   * A position that the workspace has had, or 0 if none is known. Acceptance numbers must be above
   * it.
   */
  get: (workspaceId: string) => Promise<number>
  /**
   * Call this after each connection to Redis, before the first command: Redis may have lost its
   * data, or another server with another clock may have taken its place.
   */
  forget: () => void
}

type HeldFloor = { floor: Promise<number>; until: number }

/**
 * Asks Postgres once for each workspace: from then on Redis knows a higher number. Without the
 * floor, a Redis that lost its data and whose clock is slow would give numbers twice.
 */
export const createNumberFloor = (sql: Sql, now: () => number): NumberFloor => {
  let asked = new Map<string, HeldFloor>()
  const ask = async (workspaceId: string): Promise<number> =>
    (await withinTime(readPosition(sql, workspaceId), ASK_TIMEOUT_MS)) ?? 0
  const askedOf = (workspaceId: string): HeldFloor => {
    const held = asked.get(workspaceId)
    if (held && now() < held.until) return held
    const fresh: HeldFloor = { floor: Promise.resolve(0), until: now() + ASK_AGAIN_AFTER_MS }
    fresh.floor = ask(workspaceId).then(
      (floor) => {
        fresh.until = Infinity
        return floor
      },
      () => 0,
    )
    asked.set(workspaceId, fresh)
    return fresh
  }
  const floorOf: NumberFloor['get'] = async (workspaceId) => {
    const held = askedOf(workspaceId)
    const floor = await held.floor
    const isForgotten = asked.get(workspaceId) !== held
    return isForgotten ? floorOf(workspaceId) : floor
  }
  return {
    get: floorOf,
    forget: () => {
      asked = new Map()
    },
  }
}

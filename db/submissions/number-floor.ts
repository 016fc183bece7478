import type { Sql } from '../connection/postgres.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { readPositionAndPurges } from './position.ts'

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
  /** Whether the workspace had removals at that time. Redis knows of later ones. */
  hadPurges: (workspaceId: string) => Promise<boolean>
  /**
   * Call this after each connection to Redis, before the first command: Redis may have lost its
   * data, or another server with another clock may have taken its place.
   */
  forget: () => void
}

type Floor = { position: number; hadPurges: boolean }
type HeldFloor = { floor: Promise<Floor>; until: number }

const UNKNOWN: Floor = { position: 0, hadPurges: false }

/**
 * Asks Postgres once for each workspace: from then on Redis knows a higher number. Without the
 * floor, a Redis that lost its data and whose clock is slow would give numbers twice.
 */
export const createNumberFloor = (sql: Sql, now: () => number): NumberFloor => {
  let asked = new Map<string, HeldFloor>()
  const ask = async (workspaceId: string): Promise<Floor> =>
    (await withinTime(readPositionAndPurges(sql, workspaceId), ASK_TIMEOUT_MS)) ?? UNKNOWN
  const askedOf = (workspaceId: string): HeldFloor => {
    const held = asked.get(workspaceId)
    if (held && now() < held.until) return held
    const fresh: HeldFloor = { floor: Promise.resolve(UNKNOWN), until: now() + ASK_AGAIN_AFTER_MS }
    fresh.floor = ask(workspaceId).then(
      (floor) => {
        fresh.until = Infinity
        return floor
      },
      () => UNKNOWN,
    )
    asked.set(workspaceId, fresh)
    return fresh
  }
  const floorOf = async (workspaceId: string): Promise<Floor> => {
    const held = askedOf(workspaceId)
    const floor = await held.floor
    const isForgotten = asked.get(workspaceId) !== held
    return isForgotten ? floorOf(workspaceId) : floor
  }
  return {
    get: async (workspaceId) => (await floorOf(workspaceId)).position,
    hadPurges: async (workspaceId) => (await floorOf(workspaceId)).hadPurges,
    forget: () => {
      asked = new Map()
    },
  }
}

/** So long a read waits for its turn. */
const PATIENCE_MS = 1_000

export type ReadingTurns = {
  /**
   * Does the work in its turn; undefined, and nothing was done, if the turn did not come in time.
   */
  take: <T>(workspaceId: string, work: () => Promise<T>) => Promise<T | undefined>
  /** Counts as a turn what goes on already. Call what it returns when it has ended. */
  hold: (workspaceId: string) => () => void
}

/**
 * Bounds how many reads of a workspace are under way, so that one workspace cannot take all
 * connections.
 */
export const createReadingTurns = (most: number): ReadingTurns => {
  const workspaces = new Map<string, Turns>()
  const turnsOf = (workspaceId: string): Turns => {
    const turns = workspaces.get(workspaceId) ?? new Turns(most)
    workspaces.set(workspaceId, turns)
    return turns
  }
  const leave = (workspaceId: string): void => {
    const turns = turnsOf(workspaceId)
    turns.leave()
    if (turns.underWay === 0) workspaces.delete(workspaceId)
  }
  return {
    hold: (workspaceId) => {
      turnsOf(workspaceId).underWay += 1
      return () => leave(workspaceId)
    },
    take: async (workspaceId, work) => {
      if (!(await turnsOf(workspaceId).enter())) return undefined
      try {
        return await work()
      } finally {
        leave(workspaceId)
      }
    },
  }
}

/** The turns of one workspace. */
class Turns {
  readonly #most: number
  readonly #waiting = new Set<() => void>()
  underWay = 0

  constructor(most: number) {
    this.#most = most
  }

  /** False when the turn did not come in time. */
  async enter(): Promise<boolean> {
    if (this.underWay < this.#most) {
      this.underWay += 1
      return true
    }
    return new Promise((resolve) => {
      const begin = (): void => {
        clearTimeout(late)
        resolve(true)
      }
      const late = setTimeout(() => {
        this.#waiting.delete(begin)
        resolve(false)
      }, PATIENCE_MS)
      this.#waiting.add(begin)
    })
  }

  /** The turn goes on to the read that has waited longest. */
  leave(): void {
    const [next] = this.#waiting
    if (next !== undefined && this.underWay <= this.#most) {
      this.#waiting.delete(next)
      next()
    } else this.underWay -= 1
  }
}

/** How long a read waits for its permit. */
const PATIENCE_MS = 1_000

export type ReadPermits = {
  /** Does the work with a permit. Returns undefined, and does nothing, if none comes in time. */
  run: <T>(workspaceId: string, work: () => Promise<T>) => Promise<T | undefined>
  /** Takes a permit even if none is free. The returned function releases it. */
  take: (workspaceId: string) => () => void
}

/**
 * Bounds how many reads of a workspace are under way, so that one workspace cannot take all
 * connections.
 */
export const createReadPermits = (most: number): ReadPermits => {
  const workspaces = new Map<string, Permits>()
  const permitsOf = (workspaceId: string): Permits => {
    const permits = workspaces.get(workspaceId) ?? new Permits(most)
    workspaces.set(workspaceId, permits)
    return permits
  }
  const release = (workspaceId: string): void => {
    const permits = permitsOf(workspaceId)
    permits.release()
    if (permits.used === 0) workspaces.delete(workspaceId)
  }
  return {
    take: (workspaceId) => {
      permitsOf(workspaceId).used += 1
      return () => release(workspaceId)
    },
    run: async (workspaceId, work) => {
      if (!(await permitsOf(workspaceId).acquire())) return undefined
      try {
        return await work()
      } finally {
        release(workspaceId)
      }
    },
  }
}

/** The permits of one workspace. */
class Permits {
  readonly #most: number
  readonly #waiting = new Set<() => void>()
  used = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Returns false if no permit came in time. */
  async acquire(): Promise<boolean> {
    if (this.used < this.#most) {
      this.used += 1
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

  /** Passes the permit to the read that has waited longest. */
  release(): void {
    const [next] = this.#waiting
    if (next !== undefined && this.used <= this.#most) {
      this.#waiting.delete(next)
      next()
    } else this.used -= 1
  }
}

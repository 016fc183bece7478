/** The permits that a piece of work of a workspace needs. */
type Demand = { workspaceId: string; permits: number }
type Waiter = Demand & { admit: () => void }

/**
 * A semaphore that keeps permits free for other workspaces. It serves workspaces in turn, and the
 * demands of one workspace in their order.
 *
 * A workspace that holds permits can get more, up to `mostOfWorkspace`. Afterwards at least as many
 * permits must be free as the workspace then holds. Until that is possible, the semaphore skips the
 * workspace and serves the next workspaces. A workspace without permits waits until its demand
 * fits, and the workspaces behind it wait too. A demand for more than all permits waits until no
 * permit is held.
 */
export class FairSemaphore {
  readonly #total: number
  readonly #mostOfWorkspace: number
  readonly #rest: number
  #used = 0
  /** Held permits by workspace. */
  readonly #held = new Map<string, number>()
  /** Waiters by workspace. The next workspace to be admitted comes first. */
  readonly #waiting = new Map<string, Waiter[]>()

  /**
   * `rest`: when work of `tryRun` ends and its workspace has more work waiting, the permits stay
   * held for `rest` times the duration of the work. So a workspace with constant demand leaves time
   * for other workspaces.
   */
  constructor(total: number, mostOfWorkspace = Infinity, rest = 0) {
    this.#total = total
    this.#mostOfWorkspace = mostOfWorkspace
    this.#rest = rest
  }

  get used(): number {
    return this.#used
  }

  /** Runs the work once it has its permits. */
  async run<T>(demand: Demand, work: () => Promise<T>): Promise<T> {
    await this.#acquire(demand, Infinity)
    try {
      return await work()
    } finally {
      this.#release(demand)
    }
  }

  /**
   * Runs the work if its permits come within `patienceMs`, and otherwise returns undefined. It does
   * not wait for permits if the waiting demands of the workspace, this demand included, exceed a
   * quarter of all permits.
   */
  async tryRun<T>(demand: Demand, work: () => Promise<T>, patienceMs: number): Promise<T | undefined> {
    if (!(await this.#acquire(demand, patienceMs))) return undefined
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      const restMs = this.#rest * (performance.now() - startedAt)
      if (restMs > 0 && this.#waiting.has(demand.workspaceId)) setTimeout(() => this.#release(demand), restMs)
      else this.#release(demand)
    }
  }

  /** Takes permits even if too few are free. The returned function releases them. */
  take(demand: Demand): () => void {
    this.#add(demand, 1)
    return () => this.#release(demand)
  }

  #acquire(demand: Demand, patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiter: Waiter = { ...demand, admit: () => resolve(true) }
      const own = this.#waiting.get(demand.workspaceId) ?? []
      own.push(waiter)
      this.#waiting.set(demand.workspaceId, own)
      this.#admitWaiters()
      if (patienceMs === Infinity || !own.includes(waiter)) return
      const late = setTimeout(
        () => {
          this.#remove(waiter)
          this.#admitWaiters()
          resolve(false)
        },
        isCrowded(own, this.#total) ? 0 : patienceMs,
      )
      waiter.admit = () => {
        clearTimeout(late)
        resolve(true)
      }
    })
  }

  #admitWaiters(): void {
    // An admitted workspace with more waiters moves to the end of the map, so this loop meets it
    // again.
    for (const [first] of this.#waiting.values()) {
      if (!this.#isFair(first!)) continue
      if (!this.#fits(first!)) return
      this.#add(first!, 1)
      this.#remove(first!)
      first!.admit()
    }
  }

  #isFair({ workspaceId, permits }: Demand): boolean {
    const held = this.#held.get(workspaceId)
    if (held === undefined) return true
    return held + permits <= this.#mostOfWorkspace && held + 2 * permits <= this.#total - this.#used
  }

  #fits({ permits }: Demand): boolean {
    return this.#used === 0 || this.#used + permits <= this.#total
  }

  #release(demand: Demand): void {
    this.#add(demand, -1)
    this.#admitWaiters()
  }

  #add({ workspaceId, permits }: Demand, sign: 1 | -1): void {
    this.#used += sign * permits
    const held = (this.#held.get(workspaceId) ?? 0) + sign * permits
    if (held === 0) this.#held.delete(workspaceId)
    else this.#held.set(workspaceId, held)
  }

  /** If the waiter was the first of its workspace, the workspace goes to the end of the line. */
  #remove(waiter: Waiter): void {
    const own = this.#waiting.get(waiter.workspaceId)!
    const at = own.indexOf(waiter)
    own.splice(at, 1)
    if (at > 0) return
    this.#waiting.delete(waiter.workspaceId)
    if (own.length > 0) this.#waiting.set(waiter.workspaceId, own)
  }
}

const isCrowded = (own: readonly Waiter[], total: number): boolean =>
  own.reduce((sum, { permits }) => sum + permits, 0) > total / 4

type Load = { workspaceId: string; submissions: number; bytes: number }
type Used = Omit<Load, 'workspaceId'>

export type Room = {
  /** Does the work once there is room for it. */
  enter: <T>(load: Load, work: () => Promise<T>) => Promise<T>
  /**
   * The same; undefined, and nothing was done, if there was no room within `patienceMs`, or if as
   * much of the workspace is waiting already as would fill a quarter of the room.
   */
  enterSoon: <T>(load: Load, work: () => Promise<T>, patienceMs: number) => Promise<T | undefined>
  /** Counts what is in hand already, room or not. Call what it returns when it is gone. */
  take: (load: Load) => () => void
  used: () => Readonly<Used>
}

/**
 * Bounds what a process has in hand. A load waits until there is room for it: workspaces in the
 * order of asking, each with one load at a time. A workspace has at most as much in hand as would
 * be left free, so there is always room for another one; what it asks for beyond waits without
 * keeping others out. A load that is larger than that has to wait until the workspace has nothing
 * else in hand, and one that is larger than all the room until nobody has.
 *
 * Ten thousand loads may wait, and who leaves costs the same then.
 */
export const roomFor = (most: Used): Room => {
  const inside = useOf(most)
  const line = new Line(inside)
  /** False when the patience is over. */
  const wait = (load: Load, patienceMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const one: Waiting = { load, enter: resolve }
      if (!line.join(one) || patienceMs === Infinity) return
      const isCrowded = line.bytesOf(load.workspaceId) > most.bytes / 4
      const late = setTimeout(() => line.giveUp(one), isCrowded ? 0 : patienceMs)
      one.enter = (entered) => {
        clearTimeout(late)
        resolve(entered)
      }
    })
  /** Most loads do, and need no promise for it. */
  const entersAtOnce = (load: Load): boolean => line.isClearFor(load) && inside.takes(load)
  const leave = (load: Load): void => {
    inside.letGo(load)
    line.moveUp(load.workspaceId)
  }
  const within = async <T>(load: Load, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } finally {
      leave(load)
    }
  }
  return {
    enter: async (load, work) => {
      if (!entersAtOnce(load)) await wait(load, Infinity)
      return within(load, work)
    },
    enterSoon: async (load, work, patienceMs) =>
      entersAtOnce(load) || (await wait(load, patienceMs)) ? within(load, work) : undefined,
    take: (load) => {
      inside.add(load)
      return () => leave(load)
    },
    used: () => inside.used,
  }
}

type Waiting = { readonly load: Load; enter: (entered: boolean) => void }

/** The loads that wait for room. */
class Line {
  readonly #inside: ReturnType<typeof useOf>
  readonly #waiting = new Map<string, Waiting[]>()
  /** Workspaces whose first load waits for room. */
  readonly #line = new Set<string>()
  /** Workspaces whose first load waits until they have less in hand, or more is free. */
  readonly #keptBack = new Set<string>()

  constructor(inside: ReturnType<typeof useOf>) {
    this.#inside = inside
  }

  isClearFor({ workspaceId }: Load): boolean {
    return this.#line.size === 0 && !this.#waiting.has(workspaceId)
  }

  /** The bytes that wait of a workspace. Something of it has to wait. */
  bytesOf(workspaceId: string): number {
    return this.#waiting.get(workspaceId)!.reduce((bytes, { load }) => bytes + load.bytes, 0)
  }

  /** Whether it still waits then. */
  join(one: Waiting): boolean {
    const { workspaceId } = one.load
    const own = this.#waiting.get(workspaceId)
    if (own) own.push(one)
    else {
      this.#waiting.set(workspaceId, [one])
      this.#line.add(workspaceId)
    }
    this.#letIn()
    return this.#waiting.get(workspaceId)?.at(-1) === one
  }

  giveUp(one: Waiting): void {
    this.#leave(one, false)
    this.#letIn()
  }

  /** Something of this workspace has left the room. */
  moveUp(workspaceId: string): void {
    if (this.#keptBack.delete(workspaceId)) this.#line.add(workspaceId)
    this.#letIn()
  }

  #letIn(): void {
    this.#letInFromLine()
    if (this.#line.size > 0 || this.#keptBack.size === 0 || !this.#inside.hasRoomForSeconds()) return
    for (const workspaceId of this.#keptBack) this.#line.add(workspaceId)
    this.#keptBack.clear()
    this.#letInFromLine()
  }

  #letInFromLine(): void {
    for (const workspaceId of this.#line) {
      const first = this.#waiting.get(workspaceId)![0]!
      if (!this.#inside.fits(first.load)) return
      if (this.#inside.takes(first.load)) this.#leave(first, true)
      else {
        this.#line.delete(workspaceId)
        this.#keptBack.add(workspaceId)
      }
    }
  }

  /** Behind the first of a workspace its next one stands in line, after all others. */
  #leave(one: Waiting, entered: boolean): void {
    const { workspaceId } = one.load
    const own = this.#waiting.get(workspaceId)!
    if (own[0] === one) {
      own.shift()
      this.#line.delete(workspaceId)
      this.#keptBack.delete(workspaceId)
      if (own.length > 0) this.#line.add(workspaceId)
      else this.#waiting.delete(workspaceId)
    } else own.splice(own.indexOf(one), 1)
    one.enter(entered)
  }
}

/** What is in a room, in all and of each workspace. */
const useOf = (most: Used) => {
  const used: Used = { submissions: 0, bytes: 0 }
  const own = new Map<string, Used>()
  const fits = ({ submissions, bytes }: Load): boolean =>
    used.submissions === 0 || (used.submissions + submissions <= most.submissions && used.bytes + bytes <= most.bytes)
  const isFair = ({ workspaceId, submissions, bytes }: Load): boolean => {
    const has = own.get(workspaceId)
    if (has === undefined) return true
    const left = { submissions: most.submissions - used.submissions, bytes: most.bytes - used.bytes }
    return has.submissions + 2 * submissions <= left.submissions && has.bytes + 2 * bytes <= left.bytes
  }
  const add = ({ workspaceId, submissions, bytes }: Load, sign: 1 | -1): void => {
    const has = own.get(workspaceId) ?? { submissions: 0, bytes: 0 }
    own.set(workspaceId, has)
    for (const sum of [used, has]) {
      sum.submissions += sign * submissions
      sum.bytes += sign * bytes
    }
    if (has.submissions === 0) own.delete(workspaceId)
  }
  return {
    used,
    fits,
    /**
     * Whether any workspace that has something in hand could have more, since it has to leave as
     * much free.
     */
    hasRoomForSeconds: (): boolean => most.submissions - used.submissions > 2,
    /** Takes a load in if there is room for it. */
    takes: (load: Load): boolean => {
      const isIn = fits(load) && isFair(load)
      if (isIn) add(load, 1)
      return isIn
    },
    add: (load: Load): void => add(load, 1),
    letGo: (load: Load): void => add(load, -1),
  }
}

type Load = { workspaceId: string; submissions: number; bytes: number }
type Used = Omit<Load, 'workspaceId'>

export type Room = {
  /** Does the work once there is room for it. */
  enter: <T>(load: Load, work: () => Promise<T>) => Promise<T>
  /**
   * The same; undefined, and nothing was done, if there was no room within `patienceMs`, or if as much of the workspace is waiting already as
   * would fill a quarter of the room.
   */
  enterSoon: <T>(load: Load, work: () => Promise<T>, patienceMs: number) => Promise<T | undefined>
  used: () => Readonly<Used>
}

/**
 * Bounds what a process has in hand. A load waits until there is room for it, in the order of asking. A workspace has at most as much in hand
 * as would be left free, so there is always room for another one; what it asks for beyond waits without keeping others out. A load that is
 * larger than that has to wait until the workspace has nothing else in hand, and one that is larger than all the room until nobody has.
 */
export const roomFor = (most: Used): Room => {
  const inside = useOf(most)
  let waiting: { load: Load; enter: (entered: boolean) => void }[] = []

  const letIn = (): void => {
    if (waiting.length === 0) return
    const left: typeof waiting = []
    let isFull = false
    for (const one of waiting) {
      isFull ||= !inside.fits(one.load)
      if (!isFull && inside.takes(one.load)) one.enter(true)
      else left.push(one)
    }
    waiting = left
  }
  const isCrowded = (workspaceId: string): boolean => {
    const own = waiting.filter(({ load }) => load.workspaceId === workspaceId)
    return own.reduce((bytes, { load }) => bytes + load.bytes, 0) > most.bytes / 4
  }
  const leave = (one: (typeof waiting)[number]): void => {
    waiting = waiting.filter((other) => other !== one)
    one.enter(false)
    letIn()
  }
  /** False when the patience is over. */
  const wait = (load: Load, patienceMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const one = { load, enter: resolve }
      waiting.push(one)
      letIn()
      if (patienceMs === Infinity || !waiting.includes(one)) return
      const giveUp = setTimeout(() => leave(one), isCrowded(load.workspaceId) ? 0 : patienceMs)
      one.enter = (entered) => {
        clearTimeout(giveUp)
        resolve(entered)
      }
    })
  /** Most loads do, and need no promise for it. */
  const entersAtOnce = (load: Load): boolean => waiting.length === 0 && inside.takes(load)
  const within = async <T>(load: Load, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } finally {
      inside.letGo(load)
      letIn()
    }
  }
  return {
    enter: async (load, work) => {
      if (!entersAtOnce(load)) await wait(load, Infinity)
      return within(load, work)
    },
    enterSoon: async (load, work, patienceMs) =>
      entersAtOnce(load) || (await wait(load, patienceMs)) ? within(load, work) : undefined,
    used: () => inside.used,
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
    /** Takes a load in if there is room for it. */
    takes: (load: Load): boolean => {
      const isIn = fits(load) && isFair(load)
      if (isIn) add(load, 1)
      return isIn
    },
    letGo: (load: Load): void => add(load, -1),
  }
}

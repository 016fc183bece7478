import { type Barrier, readyNow } from '../queue/barrier.ts'

/** Something to store, in its place among the submissions of its workspace. */
export type Placed = {
  workspaceId: string
  number: number
  isPurge: boolean
  queue: string
  /** How many rows it comes to, roughly; 1 when it does not say. */
  weight?: number
  /** Given back at once when it cannot be stored now: what it would wait for may wait for its place. */
  isImpatient?: boolean
}

type Bounds = {
  /** Items that one statement stores at most, and how long a lone one waits for company. */
  items: number
  waitMs: number
  /** After a statement with so many the next gathers for longer, or until enough has come, by weight. */
  busyFrom: number
  busyWaitMs: number
  enough: number
  /** Statements at the same time; more than one only of batches that are enough. */
  parallel: number
  /** Items that have to wait for a purge are looked at again after this time. */
  lookAgainAfterMs: number
  /** When nothing could be stored for so long, what is waited for is brought forward, at most so many at once. */
  stuckAfterMs: number
  exchanged: number
}

type InTurn<Item, Out> = {
  readBarrier: (workspaceId: string) => Promise<Barrier>
  /** Puts submissions that wait first in their queue; returns how many, by queue. */
  bringForward: (submissionIds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  store: (items: readonly Item[]) => Promise<readonly Out[]>
  /** What is to be done about stored items before their callers hear of it, while the next ones are stored. */
  conclude: (items: readonly Item[], results: readonly Out[]) => Promise<void>
  isPermanent: (error: unknown) => boolean
  now: () => number
  bounds: Bounds
}

type Waiting<Item, Out> = {
  item: Item
  resolve: (result: Out | 'given-back') => void
  reject: (reason: unknown) => void
}

/**
 * Collects items that are handed in one by one and stores them together, lowest number first; each caller gets its own
 * result. What waits for a purge is kept back until the purge is decided. A job that was tried again has lost its place: when
 * nothing moves because a purge waits for such a one, it is brought forward, and the latest are given back to make room. When a batch fails for a reason that trying again cannot mend, its items are stored one by one up
 * to the next purge, so that a bad one fails alone.
 */
export const inTurn = <Item extends Placed, Out>({
  readBarrier,
  bringForward,
  store,
  conclude,
  isPermanent,
  now,
  bounds,
}: InTurn<Item, Out>): ((item: Item) => Promise<Out | 'given-back'>) => {
  type Held = Waiting<Item, Out>
  const byNumber = (a: Held, b: Held): number => a.item.number - b.item.number
  let waiting: Held[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let running = 0
  let movedAt = now()
  /** What has come since the last round. */
  let weight = 0

  const schedule = (afterMs: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      if (running === 0 || weight >= bounds.enough) void round()
    }, afterMs)
  }

  const round = async (): Promise<void> => {
    if (running >= bounds.parallel || waiting.length === 0) return
    running++
    const inHand = waiting
    waiting = []
    weight = 0
    let batch: Held[] = []
    try {
      const { ready, missing } = await look(inHand)
      const isReady = new Set(ready)
      const held = inHand.filter((one) => !isReady.has(one) && one.item.isImpatient !== true)
      for (const one of inHand) if (!isReady.has(one) && one.item.isImpatient === true) one.resolve('given-back')
      if (ready.length > 0) movedAt = now()
      waiting.push(...(running === 1 && now() - movedAt > bounds.stuckAfterMs ? await exchange(held, missing) : held))
      batch = ready.slice(0, bounds.items)
      waiting.push(...ready.slice(bounds.items))
      if (batch.length > 0) {
        await storeTogether(batch)
        movedAt = now()
      }
    } catch (error) {
      for (const { reject } of batch.length > 0 ? batch : inHand) reject(error)
    } finally {
      running--
      if (batch.length >= bounds.busyFrom && Math.max(waiting.length, weight) < bounds.enough)
        schedule(bounds.busyWaitMs)
      else if (waiting.length > 0) schedule(batch.length > 0 ? 0 : bounds.lookAgainAfterMs)
    }
  }

  /** Lowest number first; numbers are times, so workspaces get their turns fairly. */
  const look = async (inHand: readonly Held[]): Promise<{ ready: Held[]; missing: string[] }> => {
    const groups = [...Map.groupBy(inHand, ({ item }) => item.workspaceId)]
    const looks = await Promise.all(
      groups.map(async ([workspaceId, own]) => {
        const barrier = await readBarrier(workspaceId)
        const { ready, missing } = readyNow(
          own.map(({ item }) => item),
          barrier,
        )
        const numbers = new Set(ready)
        // One that is delivered twice at once is stored once at a time.
        return { ready: own.filter(({ item }) => numbers.delete(item.number)), missing }
      }),
    )
    return {
      ready: looks.flatMap(({ ready }) => ready).toSorted(byNumber),
      missing: looks.flatMap(({ missing }) => missing.slice(0, bounds.exchanged)),
    }
  }

  /** Returns what is kept. */
  const exchange = async (held: readonly Held[], missing: readonly string[]): Promise<Held[]> => {
    movedAt = now()
    const moved = await bringForward(missing)
    const latest = [...Map.groupBy(held, ({ item }) => item.queue)].flatMap(([queue, own]) =>
      own.toSorted(byNumber).slice(own.length - Math.min(moved.get(queue) ?? 0, own.length)),
    )
    for (const { resolve } of latest) resolve('given-back')
    const isGivenBack = new Set(latest)
    return held.filter((one) => !isGivenBack.has(one))
  }

  const storeTogether = async (batch: readonly Held[]): Promise<void> => {
    const items = batch.map(({ item }) => item)
    const fail = (error: unknown): void => batch.forEach(({ reject }) => reject(error))
    try {
      const results = await store(items)
      void conclude(items, results).then(() => batch.forEach(({ resolve }, index) => resolve(results[index]!)), fail)
    } catch (error) {
      if (batch.length === 1 || !isPermanent(error)) return fail(error)
      const firstPurge = batch.findIndex(({ item }) => item.isPurge)
      const alone = firstPurge > 0 ? batch.slice(0, firstPurge) : firstPurge === 0 ? batch.slice(0, 1) : batch
      waiting.push(...batch.slice(alone.length))
      for (const one of alone) await storeTogether([one])
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0 && running === 0) movedAt = now()
      waiting.push({ item, resolve, reject })
      weight += item.weight ?? 1
      if (weight >= bounds.enough) void round()
      else schedule(bounds.waitMs)
    })
}

import { type Barrier, readyNow } from '../db/barrier.ts'

/** Something to store, in its place among the submissions of its workspace. */
export type Placed = { workspaceId: string; number: number; isPurge: boolean }

type Bounds = {
  /** Items that one statement stores at most, and how long a lone one waits for company. */
  items: number
  waitMs: number
  /** Statements at the same time. */
  parallel: number
  /** Items that have to wait for a purge are looked at again after this time, and given back after that. */
  lookAgainAfterMs: number
  giveBackAfterMs: number
}

type InTurn<Item, Out> = {
  readBarrier: (workspaceId: string) => Promise<Barrier>
  store: (items: readonly Item[]) => Promise<readonly Out[]>
  isPermanent: (error: unknown) => boolean
  now: () => number
  bounds: Bounds
}

type Waiting<Item, Out> = {
  item: Item
  since: number
  resolve: (result: Out | 'given-back') => void
  reject: (reason: unknown) => void
}

/**
 * Collects items that are handed in one by one and stores them together, lowest number first; each caller gets its own
 * result. What waits for a purge is kept back until the purge is decided, or given back after a while, so that those whom the
 * purge waits for find room. When a batch fails for a reason that trying again cannot mend, its items are stored one by one up
 * to the next purge, so that a bad one fails alone.
 */
export const inTurn = <Item extends Placed, Out>({
  readBarrier,
  store,
  isPermanent,
  now,
  bounds,
}: InTurn<Item, Out>): ((item: Item) => Promise<Out | 'given-back'>) => {
  let waiting: Waiting<Item, Out>[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let running = 0

  const schedule = (afterMs: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      void round()
    }, afterMs)
  }

  const round = async (): Promise<void> => {
    if (running >= bounds.parallel || waiting.length === 0) return
    running++
    const inHand = waiting
    waiting = []
    let batch: Waiting<Item, Out>[] = []
    try {
      const ready = await takeReady(inHand)
      const isReady = new Set(ready)
      keep(inHand.filter((one) => !isReady.has(one)))
      batch = ready.slice(0, bounds.items)
      waiting.push(...ready.slice(bounds.items))
      if (batch.length > 0) await settle(batch)
    } catch (error) {
      for (const { reject } of batch.length > 0 ? batch : inHand) reject(error)
    } finally {
      running--
      if (waiting.length > 0) schedule(batch.length > 0 ? 0 : bounds.lookAgainAfterMs)
    }
  }

  /** Lowest number first; numbers are times, so workspaces get their turns fairly. */
  const takeReady = async (inHand: readonly Waiting<Item, Out>[]): Promise<Waiting<Item, Out>[]> => {
    const groups = [...Map.groupBy(inHand, ({ item }) => item.workspaceId)]
    const ready = await Promise.all(
      groups.map(async ([workspaceId, own]) => {
        const numbers = new Set(
          readyNow(
            own.map(({ item }) => item),
            await readBarrier(workspaceId),
          ),
        )
        // One that is delivered twice at once is stored once at a time.
        return own.filter(({ item }) => numbers.delete(item.number))
      }),
    )
    return ready.flat().toSorted((a, b) => a.item.number - b.item.number)
  }

  const keep = (kept: readonly Waiting<Item, Out>[]): void => {
    for (const one of kept) {
      if (now() - one.since > bounds.giveBackAfterMs) one.resolve('given-back')
      else waiting.push(one)
    }
  }

  const settle = async (batch: readonly Waiting<Item, Out>[]): Promise<void> => {
    try {
      const results = await store(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      if (batch.length === 1 || !isPermanent(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      const firstPurge = batch.findIndex(({ item }) => item.isPurge)
      const alone = firstPurge > 0 ? batch.slice(0, firstPurge) : firstPurge === 0 ? batch.slice(0, 1) : batch
      waiting.push(...batch.slice(alone.length))
      for (const one of alone) await settle([one])
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, since: now(), resolve, reject })
      if (waiting.length >= bounds.items) void round()
      else schedule(bounds.waitMs)
    })
}

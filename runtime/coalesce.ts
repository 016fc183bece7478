type CoalesceBounds<In> = {
  /** The most items of a call. */
  items: number
  /** The most weight of a call. A heavier item has a call of its own. */
  weight?: { most: number; weigh: (item: In) => number }
  /** How many calls run at the same time; 1 by default. */
  concurrency?: number
  /**
   * The least time from the beginning of a call to the next; 0 by default. A call with the most
   * items does not wait.
   */
  everyMs?: number
}

type Waiting<In, Out> = { item: In; resolve: (result: Out) => void; reject: (reason: unknown) => void }

/**
 * Lets single items share calls, in their order. A call carries the items of one tick of the event
 * loop. While `concurrency` calls run, and for `everyMs` after a call has begun, items wait for the
 * next call. So a lone item goes at once, and under load a call carries many.
 *
 * Each caller gets the result of its own item. If a call fails, all waiting items are rejected too:
 * a server that does not answer would make them wait a second time.
 */
export const coalesce = <In, Out>(
  call: (items: readonly In[]) => Promise<readonly Out[]>,
  bounds: CoalesceBounds<In>,
): ((item: In) => Promise<Out>) => {
  let free = bounds.concurrency ?? 1
  let waiting: Waiting<In, Out>[] = []
  let gathersUntil = -Infinity
  const gathersForMs = (): number => (waiting.length < bounds.items ? gathersUntil - performance.now() : 0)
  const goOnAfter = runOnceAfter(() => goOn())
  const plan = (): void => {
    if (waiting.length > 0 && free > 0) goOnAfter(gathersForMs())
  }
  const goOn = (): void => {
    if (waiting.length > 0 && free > 0 && gathersForMs() <= 0) void carry()
    plan()
  }
  const carry = async (): Promise<void> => {
    free--
    if (bounds.everyMs !== undefined) gathersUntil = performance.now() + bounds.everyMs
    const together = waiting.splice(0, howMany(waiting, bounds))
    try {
      const results = await call(together.map(({ item }) => item))
      together.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      const failed = [...together, ...waiting]
      waiting = []
      for (const { reject } of failed) reject(error)
    }
    free++
    goOn()
  }
  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      plan()
    })
}

/**
 * Plans one run of a step: after a time, or at the end of this tick of the event loop if the time
 * is 0 or less. While a run is planned, a further plan can only move it to the end of this tick.
 */
const runOnceAfter = (step: () => void): ((ms: number) => void) => {
  let isAtTickEnd = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = (): void => {
    isAtTickEnd = false
    clearTimeout(timer)
    timer = undefined
    step()
  }
  return (ms) => {
    if (isAtTickEnd) return
    isAtTickEnd = ms <= 0
    if (isAtTickEnd) setImmediate(run)
    else timer ??= setTimeout(run, ms)
  }
}

const howMany = <In>(waiting: readonly { item: In }[], { items, weight }: CoalesceBounds<In>): number => {
  if (weight === undefined) return items
  let sum = 0
  const end = waiting.findIndex(({ item }, index) => {
    sum += weight.weigh(item)
    return index === items || (index > 0 && sum > weight.most)
  })
  return end === -1 ? waiting.length : end
}

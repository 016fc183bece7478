/**
 * Upper bounds of what goes together: how many items, and how much they may weigh together (an item
 * that weighs more goes alone). `lanes`: how many calls may run at the same time, 1 by default.
 * `everyMs`: for so long after a call began the next one gathers, unless it has all the items that
 * may go together; 0 by default.
 */
type CoalesceBounds<In> = {
  items: number
  weight?: { most: number; of: (item: In) => number }
  lanes?: number
  everyMs?: number
}

type Waiting<In, Out> = { item: In; resolve: (result: Out) => void; reject: (reason: unknown) => void }

/**
 * Lets items that come one by one share calls, in the order in which they come. The items of one
 * turn of the event loop go together, and so do the items that come while all lanes are taken or a
 * call has just begun. So an item that comes alone waits for no company, and under load a call
 * carries many.
 *
 * Each caller gets the result of its own item. A call that fails fails all items that it carried
 * and all that wait by then: these have waited already, and would wait for a server that does not
 * answer.
 */
export const coalesce = <In, Out>(
  call: (items: readonly In[]) => Promise<readonly Out[]>,
  bounds: CoalesceBounds<In>,
): ((item: In) => Promise<Out>) => {
  let free = bounds.lanes ?? 1
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
 * Runs a step after a time, or with this turn of the event loop. Asked again before it runs, it
 * keeps to the sooner.
 */
const runOnceAfter = (step: () => void): ((ms: number) => void) => {
  let endsTurn = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = (): void => {
    endsTurn = false
    clearTimeout(timer)
    timer = undefined
    step()
  }
  return (ms) => {
    if (endsTurn) return
    endsTurn = ms <= 0
    if (endsTurn) setImmediate(run)
    else timer ??= setTimeout(run, ms)
  }
}

const howMany = <In>(waiting: readonly { item: In }[], { items, weight }: CoalesceBounds<In>): number => {
  if (weight === undefined) return items
  let sum = 0
  const end = waiting.findIndex(({ item }, index) => {
    sum += weight.of(item)
    return index === items || (index > 0 && sum > weight.most)
  })
  return end === -1 ? waiting.length : end
}

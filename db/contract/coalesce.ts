/** Upper bounds of what goes together: how many items, and how much they may weigh together (one that weighs more goes alone). */
export type CoalesceBounds<In> = { items: number; weight?: { most: number; of: (item: In) => number } }

type Waiting<In, Out> = { item: In; resolve: (result: Out) => void; reject: (reason: unknown) => void }

/**
 * Lets items that are handed in one by one share calls, in the order in which they come: what comes in the same turn of the
 * event loop, or while a call is on its way, goes with the next. Nobody waits for company, and under load a call carries many.
 * Each caller gets its own result. A call that fails fails for all that it carried and for those who wait by then: of a server
 * that does not answer they would hear no earlier, and have waited already.
 */
export const coalesce = <In, Out>(
  call: (items: readonly In[]) => Promise<readonly Out[]>,
  bounds: CoalesceBounds<In>,
): ((item: In) => Promise<Out>) => {
  let waiting: Waiting<In, Out>[] = []
  let isUnderWay = false

  const goOn = async (): Promise<void> => {
    while (waiting.length > 0) {
      const together = waiting.splice(0, howMany(waiting, bounds))
      try {
        const results = await call(together.map(({ item }) => item))
        together.forEach(({ resolve }, index) => resolve(results[index]!))
      } catch (error) {
        const failed = [...together, ...waiting]
        waiting = []
        for (const { reject } of failed) reject(error)
      }
    }
    isUnderWay = false
  }

  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isUnderWay) return
      isUnderWay = true
      setImmediate(() => void goOn())
    })
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

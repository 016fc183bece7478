/**
 * Upper bounds of what goes together: how many items, and how much they may weigh together (one that weighs more goes alone).
 * `lanes`: how many calls may be on their way at the same time, 1 unless told; a further one only for at least `enough` items.
 */
export type CoalesceBounds<In> = {
  items: number
  weight?: { most: number; of: (item: In) => number }
  lanes?: { count: number; enough: number }
}

type Waiting<In, Out> = { item: In; resolve: (result: Out) => void; reject: (reason: unknown) => void }

const ONE_LANE = { count: 1, enough: Number.POSITIVE_INFINITY }

/**
 * Lets items that are handed in one by one share calls, in the order in which they come: what comes in the same turn of the
 * event loop, or while a call is on its way, goes with the next. Nobody waits for company, and under load a call carries many.
 * A call is told its lane, of 0 and up, in which no other is on its way meanwhile.
 * Each caller gets its own result. A call that fails fails for all that it carried and for those who wait by then: of a server
 * that does not answer they would hear no earlier, and have waited already.
 */
export const coalesce = <In, Out>(
  call: (items: readonly In[], lane: number) => Promise<readonly Out[]>,
  bounds: CoalesceBounds<In>,
): ((item: In) => Promise<Out>) => {
  const { count, enough } = bounds.lanes ?? ONE_LANE
  const free = Array.from({ length: count }, (_, lane) => lane)
  let waiting: Waiting<In, Out>[] = []
  let isPlanned = false

  const goOn = async (): Promise<void> => {
    if (waiting.length === 0 || free.length === 0 || (free.length < count && waiting.length < enough)) return
    const lane = free.shift()!
    const together = waiting.splice(0, howMany(waiting, bounds))
    try {
      const results = await call(
        together.map(({ item }) => item),
        lane,
      )
      together.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      const failed = [...together, ...waiting]
      waiting = []
      for (const { reject } of failed) reject(error)
    }
    free.push(lane)
    void goOn()
  }

  const plan = (): void => {
    if (isPlanned || free.length < count) return
    isPlanned = true
    setImmediate(() => {
      isPlanned = false
      void goOn()
    })
  }

  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (waiting.length >= enough) void goOn()
      else plan()
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

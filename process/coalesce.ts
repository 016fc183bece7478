/**
 * Upper bounds of what goes together: how many items, and how much they may weigh together (one that weighs more goes alone).
 * `lanes`: how many calls may be on their way at the same time, 1 unless told. `spacingMs`: what comes after a call that carried several,
 * but not enough, goes no earlier than so long after that began; 0 unless told. `enough` items go at once, in a further lane if there is
 * one.
 */
export type CoalesceBounds<In> = {
  items: number
  weight?: { most: number; of: (item: In) => number }
  lanes?: number
  spacingMs?: number
  enough?: number
}

/**
 * For calls by which requests are answered. At 4,000 requests a second of 64 connections, half of the most that an API process takes, a
 * request took 286 us of all processes, and 13.5 ms at p99, when each call was followed by the next; with this 268 us and 11.8 ms
 * (medians of 14 alternating rounds). Of four connections alone 4 % fewer are answered, of one as many as before.
 */
export const SPACED = { spacingMs: 1, enough: 16 }

type Waiting<In, Out> = { item: In; resolve: (result: Out) => void; reject: (reason: unknown) => void }

/**
 * Lets items that are handed in one by one share calls, in the order in which they come: what comes in the same turn of the
 * event loop, or while a call is on its way, goes with the next. Whoever comes alone waits for no company, and under load a call
 * carries many.
 * A call is told its lane, of 0 and up, in which no other is on its way meanwhile.
 * Each caller gets its own result. A call that fails fails for all that it carried and for those who wait by then: of a server
 * that does not answer they would hear no earlier, and have waited already.
 */
export const coalesce = <In, Out>(
  call: (items: readonly In[], lane: number) => Promise<readonly Out[]>,
  bounds: CoalesceBounds<In>,
): ((item: In) => Promise<Out>) => {
  const { lanes = 1, spacingMs = 0, enough = Number.POSITIVE_INFINITY } = bounds
  const free = Array.from({ length: lanes }, (_, lane) => lane)
  let waiting: Waiting<In, Out>[] = []
  let isPlanned = false
  let carried = 0
  let begunAt = 0

  const goOn = async (): Promise<void> => {
    if (waiting.length === 0 || free.length === 0 || (free.length < lanes && waiting.length < enough)) return
    const lane = free.shift()!
    const together = waiting.splice(0, howMany(waiting, bounds))
    carried = together.length
    begunAt = performance.now()
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
    if (waiting.length >= enough || restMs() <= 0) void goOn()
    else plan()
  }

  const restMs = (): number =>
    carried > 1 && carried < enough ? Math.round(begunAt + spacingMs - performance.now()) : 0

  const plan = (): void => {
    if (isPlanned || waiting.length === 0 || free.length < lanes) return
    isPlanned = true
    const go = (): void => {
      isPlanned = false
      void goOn()
    }
    const ms = restMs()
    if (ms > 0) setTimeout(go, ms)
    else setImmediate(go)
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

/** Upper bounds of a batch: how many items, and how long its first one waits for company (0: what comes in the same turn). */
export type BatchBounds = { items: number; waitMs: number }

type Waiting<In, Out> = { item: In; resolve: (result: Out) => void; reject: (reason: unknown) => void }

/**
 * Collects items that are handed in one by one and processes them together; each caller gets its own result. When a batch
 * fails for a reason that trying again cannot mend, its items are processed one by one, so that a bad one fails alone.
 */
export const inBatches = <In, Out>(
  process: (items: readonly In[]) => Promise<readonly Out[]>,
  { items: most, waitMs }: BatchBounds,
  isPermanent: (error: unknown) => boolean,
): ((item: In) => Promise<Out>) => {
  let waiting: Waiting<In, Out>[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const batch = waiting
    waiting = []
    void settle(batch)
  }

  const settle = async (batch: readonly Waiting<In, Out>[]): Promise<void> => {
    try {
      const results = await process(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      if (batch.length === 1 || !isPermanent(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      for (const one of batch) await settle([one])
    }
  }

  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (waiting.length >= most) flush()
      else timer ??= setTimeout(flush, waitMs)
    })
}

export type Quarantine = {
  /** Works beside other shared work, but waits while exclusive work waits or runs. */
  shared: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Works while this process does nothing else. If the process dies now, this work is the reason.
   */
  exclusive: <T>(work: () => Promise<T>) => Promise<T>
  /** Whether exclusive work waits or runs. Long shared work ends early then. */
  isWanted: () => boolean
}

/**
 * A lock of the process. A submission that may kill its worker is applied with nothing beside it,
 * so that a death says which submission it was.
 */
export const createQuarantine = (): Quarantine => {
  let sharing = 0
  let onIdle: (() => void) | undefined
  let last: Promise<void> | undefined

  const untilIdle = (): Promise<void> =>
    sharing === 0 ? Promise.resolve() : new Promise((resolve) => (onIdle = resolve))

  return {
    shared: async (work) => {
      // Nothing is awaited between the last look and the count, or exclusive work could begin in
      // between.
      for (let before = last; before !== undefined; before = last) await before
      sharing++
      try {
        return await work()
      } finally {
        sharing--
        if (sharing === 0) onIdle?.()
      }
    },
    exclusive: <T>(work: () => Promise<T>): Promise<T> => {
      const result = (last ?? Promise.resolve()).then(untilIdle).then(work)
      const ended: Promise<void> = Promise.allSettled([result]).then(() => {
        if (last === ended) last = undefined
      })
      last = ended
      return result
    },
    isWanted: () => last !== undefined,
  }
}

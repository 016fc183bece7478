export type Quarantine = {
  /** Runs beside other shared work, but waits while exclusive work waits or runs. */
  shared: <T>(work: () => Promise<T>) => Promise<T>
  /** Runs while no other work runs, shared or exclusive. */
  exclusive: <T>(work: () => Promise<T>) => Promise<T>
  /** Whether exclusive work waits or runs. Long shared work then ends early. */
  isWanted: () => boolean
}

/**
 * A lock within the process. A submission that may kill its worker is applied as exclusive work, so
 * that a death identifies the submission.
 */
export const createQuarantine = (): Quarantine => {
  let sharing = 0
  let onIdle: (() => void) | undefined
  let last: Promise<void> | undefined

  const untilIdle = (): Promise<void> =>
    sharing === 0 ? Promise.resolve() : new Promise((resolve) => (onIdle = resolve))

  return {
    shared: async (work) => {
      // No `await` between the last check and the count: exclusive work could begin in between.
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

/** A submission that was in hand so often when its worker died is looked at alone. One death may be counted late, or not at all. */
export const SUSPECT_AFTER_DEATHS = 2
/** So many deaths of workers that had nothing else in hand end a submission. */
export const MOST_DEATHS_ALONE = 3

type Turn = { close: () => void; open: () => void }

export type Company = {
  /** Works among others, unless a suspect is being worked on: then after it. */
  among: <T>(work: () => Promise<T>) => Promise<T>
  /** Works while this worker does nothing else, one suspect at a time: if the worker dies now, this is why. */
  alone: <T>(work: () => Promise<T>) => Promise<T>
}

/** @param turn gives back what waits in it while it is closed: it may wait for the suspect. */
export const companyOf = (turn: Turn): Company => {
  let working = 0
  let whenNobodyWorks: (() => void) | undefined
  let lastSuspect: Promise<void> | undefined

  const nobodyWorks = (): Promise<void> =>
    working === 0 ? Promise.resolve() : new Promise((resolve) => (whenNobodyWorks = resolve))

  const workAlone = async <T>(work: () => Promise<T>): Promise<T> => {
    turn.close()
    try {
      await nobodyWorks()
      return await work()
    } finally {
      turn.open()
    }
  }

  return {
    among: async (work) => {
      // Nothing is awaited between the last look and `working`, or a suspect could begin meanwhile.
      for (let before = lastSuspect; before !== undefined; before = lastSuspect) await before
      working++
      try {
        return await work()
      } finally {
        working--
        if (working === 0) whenNobodyWorks?.()
      }
    },
    alone: <T>(work: () => Promise<T>): Promise<T> => {
      const before = lastSuspect ?? Promise.resolve()
      const result = before.then(() => workAlone(work))
      const ended: Promise<void> = result
        .then(
          () => {},
          () => {},
        )
        .then(() => {
          if (lastSuspect === ended) lastSuspect = undefined
        })
      lastSuspect = ended
      return result
    },
  }
}

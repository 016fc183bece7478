/** A job that was in hand so often when its worker died may be what kills them. */
const SUSPECT_AFTER_DEATHS = 4

export const isSuspect = (deaths: number): boolean => deaths >= SUSPECT_AFTER_DEATHS

export type SuspectsApart = <T>(deaths: number, work: () => Promise<T>) => Promise<T | 'given-back'>

/**
 * Works on one suspect at a time and gives the others back meanwhile. Else all that share the hands of a worker with a job that
 * kills it again and again would be given up together with it.
 */
export const suspectsApart = (): SuspectsApart => {
  let suspectInHand = false
  return async (deaths, work) => {
    if (!isSuspect(deaths)) return work()
    if (suspectInHand) return 'given-back'
    suspectInHand = true
    try {
      return await work()
    } finally {
      suspectInHand = false
    }
  }
}

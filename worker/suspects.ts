import type { Work } from './delivery.ts'

/** A job that was in hand so often when its worker died may be what kills the workers. */
const SUSPECT_AFTER_DEATHS = 4

export const isSuspect = (deaths: number): boolean => deaths >= SUSPECT_AFTER_DEATHS

/**
 * Has the worker work on one suspect at a time and give the others back meanwhile. Otherwise all jobs that share the hands of a
 * worker with a job that kills it again and again would be given up together with that job.
 */
export const suspectsApart = (): ((work: Work) => Work) => {
  let isOneInHand = false
  return (work) => async (delivery) => {
    if (!isSuspect(delivery.job.stalledCounter)) return work(delivery)
    if (isOneInHand) return 'given-back'
    isOneInHand = true
    try {
      return await work(delivery)
    } finally {
      isOneInHand = false
    }
  }
}

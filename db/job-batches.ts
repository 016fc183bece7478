import type { FetchedJob, FinishedJob, JobsAtOnce } from './jobs-at-once.ts'

/** Jobs that one call fetches or finishes at most: Redis answers nobody else meanwhile. */
const JOBS_AT_ONCE = 100

type Finishing = { job: FinishedJob; resolve: (finished: boolean) => void; reject: (reason: unknown) => void }

export type JobBatches = {
  /**
   * The next job, or until when there is none, in Unix milliseconds (0: until one comes). Undefined when it is to be asked
   * for in BullMQ's own way. `room`: how many jobs the worker could take, this one included.
   */
  next: (room: number) => Promise<FetchedJob | { delayedUntil: number } | undefined>
  /** Together with all that finish in this turn of the event loop. False when it is not the worker's any more. */
  finish: (job: FinishedJob) => Promise<boolean>
  /** What was fetched and that nobody has asked for yet; nothing more is fetched. */
  close: () => FetchedJob[]
}

/** Fetches jobs for one who asks for them one by one, and finishes them likewise, with as few calls as it takes. */
export const jobBatches = ({ fetch, finish }: JobsAtOnce): JobBatches => {
  let fetched: FetchedJob[] = []
  let finishing: Finishing[] = []
  let isClosed = false

  const finishTogether = async (batch: readonly Finishing[]): Promise<void> => {
    try {
      const finished = await finish(batch.map(({ job }) => job))
      batch.forEach(({ resolve }, index) => resolve(finished[index] === true))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const finishAll = (): void => {
    const all = finishing
    finishing = []
    for (let at = 0; at < all.length; at += JOBS_AT_ONCE) void finishTogether(all.slice(at, at + JOBS_AT_ONCE))
  }

  return {
    next: async (room) => {
      if (isClosed) return { delayedUntil: 0 }
      const waiting = fetched.shift()
      if (waiting !== undefined) return waiting
      const answer = await fetch(Math.max(1, Math.min(room, JOBS_AT_ONCE)))
      if (answer === undefined) return undefined
      fetched.push(...answer.jobs)
      return fetched.shift() ?? { delayedUntil: answer.delayedUntil }
    },
    finish: (job) =>
      new Promise((resolve, reject) => {
        if (finishing.length === 0) setImmediate(finishAll)
        finishing.push({ job, resolve, reject })
      }),
    close: () => {
      isClosed = true
      const left = fetched
      fetched = []
      return left
    },
  }
}

import { setTimeout as wait } from 'node:timers/promises'
import type { JobJson } from 'bullmq'
import { type FinishedJob, JOBS_AT_ONCE, type JobsAtOnce } from './jobs-at-once.ts'

/** A worker that has so many jobs in hand, and has fetched all that waited, lets some more come before it fetches again. */
const BUSY_FROM = 50
const GATHER_MS = 20
/** A worker whose hands are full looks again after this time. */
const LOOK_AGAIN_MS = 20

type Finishing = { job: FinishedJob; resolve: (finished: boolean) => void; reject: (reason: unknown) => void }

/** How many jobs a worker has, and how many more it could take. */
export type Hands = { inHand: number; room: number }

export type JobBatches = {
  /**
   * The next jobs, at least one; or until when there is none, in Unix milliseconds (0: until one comes, or there is room); or undefined
   * when BullMQ's own way must find the next job.
   */
  next: (hands: () => Hands) => Promise<readonly JobJson[] | { delayedUntil: number } | undefined>
  /** Finishes a job, together with all jobs that finish in this turn of the event loop. False when the worker does not hold it any more. */
  finish: (job: FinishedJob) => Promise<boolean>
  /** Hands nothing more out. Returns the jobs that were being fetched. */
  close: () => Promise<readonly JobJson[]>
}

/** Fetches as many jobs as there are hands for, and finishes each when it is done, with as few calls as possible. */
export const jobBatches = ({ fetch, remind, finish }: JobsAtOnce): JobBatches => {
  let left: readonly JobJson[] = []
  let finishing: Finishing[] = []
  let isClosed = false
  /** Set when the last fetch took all that waited, so that the next one is spared. A job that comes later wakes the worker. */
  let none: { delayedUntil: number } | undefined
  let wasAll = false
  let asking: ReturnType<JobsAtOnce['fetch']> | undefined

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
    next: async (hands) => {
      if (isClosed) return { delayedUntil: 0 }
      if (none !== undefined) {
        const known = none
        none = undefined
        return known
      }
      if (hands().room < 1) {
        await wait(LOOK_AGAIN_MS)
        // BullMQ waits for a job to come now, though some may be waiting.
        await remind()
        return { delayedUntil: 0 }
      }
      if (wasAll && hands().inHand >= BUSY_FROM) await wait(GATHER_MS)
      asking = fetch(Math.min(hands().room, JOBS_AT_ONCE))
      const answer = await asking
      if (answer === undefined) return undefined
      const { jobs, isAll, delayedUntil } = answer
      wasAll = isAll
      if (isClosed) left = jobs
      if (isClosed || jobs.length === 0) return { delayedUntil }
      if (isAll) none = { delayedUntil }
      return jobs
    },
    finish: (job) =>
      new Promise((resolve, reject) => {
        if (finishing.length === 0) setImmediate(finishAll)
        finishing.push({ job, resolve, reject })
      }),
    close: async () => {
      isClosed = true
      await asking?.catch(() => {})
      return left
    },
  }
}

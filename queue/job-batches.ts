import { setTimeout as wait } from 'node:timers/promises'
import type { JobJson } from 'bullmq'
import { type FinishedJob, JOBS_AT_ONCE, type JobsAtOnce } from './jobs-at-once.ts'

/** A worker that has so many jobs in hand and has fetched all that waited lets some more come before it fetches again. */
const BUSY_FROM = 50
const GATHER_MS = 20
/** One whose hands are full looks again after this time. */
const LOOK_AGAIN_MS = 20

type Finishing = { job: FinishedJob; resolve: (finished: boolean) => void; reject: (reason: unknown) => void }

/** Of a worker: how many jobs it has, and how many more it could take. */
export type Hands = { inHand: number; room: number }

export type JobBatches = {
  /**
   * The next jobs, at least one, or until when there is none, in Unix milliseconds (0: until one comes, or there is room). Undefined
   * when it is to be asked for in BullMQ's own way.
   */
  next: (hands: () => Hands) => Promise<readonly JobJson[] | { delayedUntil: number } | undefined>
  /** Together with all that finish in this turn of the event loop. False when it is not the worker's any more. */
  finish: (job: FinishedJob) => Promise<boolean>
  /** Nothing more is handed out. Returns what was fetched when this came. */
  close: () => Promise<readonly JobJson[]>
}

/** Fetches as many jobs as there are hands for, and finishes them one by one, with as few calls as it takes. */
export const jobBatches = ({ fetch, remind, finish }: JobsAtOnce): JobBatches => {
  let left: readonly JobJson[] = []
  let finishing: Finishing[] = []
  let isClosed = false
  /** What is known without asking: there were no more when the last ones were fetched. One that comes since wakes the worker. */
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
        // It waits for one to come now, though there may be some.
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

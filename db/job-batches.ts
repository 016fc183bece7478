import { setTimeout as wait } from 'node:timers/promises'
import type { FetchedJob, FinishedJob, JobsAtOnce } from './jobs-at-once.ts'

/** Jobs that one call fetches or finishes at most: Redis answers nobody else meanwhile. */
const JOBS_AT_ONCE = 100

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
   * The next job, or until when there is none, in Unix milliseconds (0: until one comes, or there is room). Undefined when it is to
   * be asked for in BullMQ's own way.
   */
  next: (hands: Hands) => Promise<FetchedJob | { delayedUntil: number } | undefined>
  /** Together with all that finish in this turn of the event loop. False when it is not the worker's any more. */
  finish: (job: FinishedJob) => Promise<boolean>
  /** What was fetched and that nobody has asked for yet; nothing more is fetched. */
  close: () => Promise<FetchedJob[]>
}

/** Fetches jobs for one who asks for them one by one, and finishes them likewise, with as few calls as it takes. */
export const jobBatches = ({ fetch, remind, finish }: JobsAtOnce): JobBatches => {
  let fetched: FetchedJob[] = []
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
    next: async ({ room, inHand }) => {
      if (isClosed) return { delayedUntil: 0 }
      if (fetched.length > 0) return fetched.shift()
      if (none !== undefined) {
        const known = none
        none = undefined
        return known
      }
      if (room < 1) {
        await wait(LOOK_AGAIN_MS)
        // It waits for one to come now, though there may be some.
        await remind()
        return { delayedUntil: 0 }
      }
      if (wasAll && inHand >= BUSY_FROM) await wait(GATHER_MS)
      asking = fetch(Math.min(room, JOBS_AT_ONCE))
      const answer = await asking
      if (answer === undefined) return undefined
      wasAll = answer.isAll
      const noMore = { delayedUntil: answer.delayedUntil }
      if (answer.jobs.length === 0) return noMore
      if (answer.isAll) none = noMore
      fetched.push(...answer.jobs)
      return fetched.shift()
    },
    finish: (job) =>
      new Promise((resolve, reject) => {
        if (finishing.length === 0) setImmediate(finishAll)
        finishing.push({ job, resolve, reject })
      }),
    close: async () => {
      isClosed = true
      await asking?.catch(() => {})
      const left = fetched
      fetched = []
      return left
    },
  }
}

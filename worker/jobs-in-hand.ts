import type { Processor } from './dependencies.ts'

/** Telling Redis that a job is finished takes less. */
const IDLE_MS = 2_000
const LOOK_EVERY_MS = 50

type Closable = { close: () => Promise<void> }

/** Counts the jobs that are in hand, and ends the workers that have them. */
export const createJobsInHand = () => {
  let inHand = 0
  return {
    counting:
      (process: Processor): Processor =>
      async (job) => {
        inHand++
        try {
          return await process(job)
        } finally {
          inHand--
        }
      },
    /**
     * Resolves when the workers have closed, or have had no job in hand for two seconds. On a
     * cluster that lost a node, a worker that waits for a job may not hear that it should end
     * (BullMQ 6.7.0 with ioredis 6.0.0). A job whose end Redis was not told is delivered again,
     * which does no harm.
     */
    close: async (workers: readonly Closable[]): Promise<void> => {
      const closed = new AbortController()
      const closing = Promise.all(workers.map((worker) => worker.close())).then(() => closed.abort())
      closing.catch(() => {})
      for (let idleSince = performance.now(); !closed.signal.aborted && performance.now() - idleSince < IDLE_MS;) {
        if (inHand > 0) idleSince = performance.now()
        await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))])
      }
    },
  }
}

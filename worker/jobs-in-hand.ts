import type { Processor } from './process-job.ts'

/** Reporting the end of a job to Redis takes less time. */
const IDLE_MS = 2_000
const CHECK_EVERY_MS = 50

type Closable = { close: () => Promise<void> }

/** Counts the jobs in hand, and closes the workers. */
export const createJobsInHand = () => {
  let inHand = 0
  return {
    track:
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
     * Resolves when the workers have closed, or have had no job in hand for `IDLE_MS`. On a cluster
     * that lost a node, a waiting worker may never close (BullMQ 6.7.0 with ioredis 6.0.0). A job
     * whose end did not reach Redis is delivered again, which does no harm.
     */
    close: async (workers: readonly Closable[]): Promise<void> => {
      const closed = new AbortController()
      const closing = Promise.allSettled(workers.map((worker) => worker.close())).then(() => closed.abort())
      for (let idleSince = performance.now(); !closed.signal.aborted && performance.now() - idleSince < IDLE_MS;) {
        if (inHand > 0) idleSince = performance.now()
        await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS))])
      }
    },
  }
}

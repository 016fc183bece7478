import type { ProcessReport } from '../../queue/jobs/process-reports.ts'
import { FairSemaphore } from '../../runtime/fair-semaphore.ts'

export type BodyFigures = ProcessReport['bodies']

type Body = { workspaceId: string; bytes: number }

/**
 * The bodies that the process reads, parses, validates and sends to Redis, and the large answers
 * that it writes.
 */
export type BodiesInHand = {
  /**
   * Does the work once the bytes of the body fit below the bound. Returns undefined without doing
   * the work if they do not fit within `PATIENCE_MS`, or if many bytes of the workspace wait.
   */
  whenBytesFit: <T>(body: Body, work: () => Promise<T>) => Promise<T | undefined>
  /**
   * Does the work with an arrived body. Large bodies go one after the other, since the process has
   * one thread.
   */
  oneLargeAtATime: <T>(body: Body, work: () => Promise<T>) => Promise<T>
  /**
   * Counts the bytes of an answer, even if they exceed the bound. Call the returned function once
   * the answer is written.
   */
  takeAnswer: (answer: Body) => () => void
  figures: () => BodyFigures
}

const PATIENCE_MS = 2_000
/** Smaller bodies are parsed and validated so fast that they need not line up. */
const LARGE_BYTES = 64 * 1024
const LONG_MS = 20
const LONGEST_PAUSE_MS = 500
/** The longest time for which the line waits for the work with one body. */
const LINE_HELD_MS = 1_000

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Bounds the bytes of bodies that a process has in hand, and keeps room for other workspaces. */
export const createBodiesInHand = (mostBytes: number): BodiesInHand => {
  const bytes = new FairSemaphore(mostBytes)
  const line = new FairSemaphore(1)
  let refused = 0
  return {
    whenBytesFit: async (body, work) => {
      const done = await bytes.tryRun(demandOf(body), work, PATIENCE_MS)
      if (done === undefined) refused++
      return done
    },
    oneLargeAtATime: (body, work) =>
      body.bytes <= LARGE_BYTES
        ? work()
        : new Promise((resolve, reject) => {
            void line.run({ workspaceId: body.workspaceId, permits: 1 }, async () => {
              const beganAt = performance.now()
              const done = work()
              done.then(resolve, reject)
              // While Redis hangs, a body takes seconds, and must not hold up the next bodies.
              await Promise.race([done.catch(() => {}), after(LINE_HELD_MS)])
              await yieldToOthers(performance.now() - beganAt)
            })
          }),
    takeAnswer: (answer) => bytes.take(demandOf(answer)),
    figures: () => ({ bytes: bytes.used, mostBytes, refused }),
  }
}

const demandOf = ({ workspaceId, bytes }: Body) => ({ workspaceId, permits: bytes })

/**
 * Leaves the process to other work for as long as the body took, up to `LONGEST_PAUSE_MS`. After a
 * short time, one turn of the event loop is enough.
 */
const yieldToOthers = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    if (ms < LONG_MS) setImmediate(resolve)
    else setTimeout(resolve, Math.min(ms, LONGEST_PAUSE_MS))
  })

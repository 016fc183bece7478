import type { ProcessReport } from '../../queue/jobs/process-reports.ts'
import { FairSemaphore } from '../../runtime/fair-semaphore.ts'
import { takeTurn } from './take-turn.ts'

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
/** Many bodies can arrive in one turn of the event loop. Only the smallest are all parsed in it. */
const SMALL_BYTES = 4 * 1024
/** While Redis hangs, a body takes seconds, and must not hold up the next bodies for longer. */
const LINE_HELD_MS = 1_000
/** If further large bodies of the workspace wait, a body of N ms keeps its place for N ms more. */
const LINE_REST = 1

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Bounds the bytes of bodies that a process has in hand, and keeps room for other workspaces. */
export const createBodiesInHand = (mostBytes: number): BodiesInHand => {
  const bytes = new FairSemaphore(mostBytes)
  const line = new FairSemaphore(1, Infinity, LINE_REST)
  let refused = 0
  return {
    whenBytesFit: async (body, work) => {
      const done = await bytes.tryRun(demandOf(body), work, PATIENCE_MS)
      if (done === undefined) refused++
      return done
    },
    oneLargeAtATime: async ({ workspaceId, bytes: size }, work) => {
      if (size <= SMALL_BYTES) return work()
      if (size <= LARGE_BYTES) {
        await takeTurn()
        return work()
      }
      const begin = async () => {
        await takeTurn()
        const done = work()
        await Promise.race([done, after(LINE_HELD_MS)])
        return { done }
      }
      return (await line.tryRun({ workspaceId, permits: 1 }, begin, Infinity))!.done
    },
    takeAnswer: (answer) => bytes.take(demandOf(answer)),
    figures: () => ({ bytes: bytes.used, mostBytes, refused }),
  }
}

const demandOf = ({ workspaceId, bytes }: Body) => ({ workspaceId, permits: bytes })

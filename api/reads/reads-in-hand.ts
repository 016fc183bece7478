import { FairSemaphore } from '../../runtime/fair-semaphore.ts'

type ReadAnswerSize = { workspaceId: string; bytes: number }

/** The bytes of the large answers to reads of a process. They leave room for the answers of others. */
export type ReadsInHand = {
  /**
   * Does the read if its answer will fit below the bound. Returns undefined without doing it if the
   * answer would not fit within `patienceMs`.
   */
  whenBytesFit: <T>(workspaceId: string, read: () => Promise<T>, patienceMs: number) => Promise<T | undefined>
  /** Counts an answer. Call the returned function once the answer is written. */
  takeAnswer: (answer: ReadAnswerSize) => () => void
}

const MOST_BYTES = 64 * 1024 * 1024
/** The answer to a read of a workspace without large answers. */
const USUAL_BYTES = 64 * 1024
const REMEMBERED_MS = 60_000

/**
 * The bytes of an answer are known only when it is read. Until then, it counts as large as the
 * largest recent answer of its workspace.
 */
export const createReadsInHand = (steadily: () => number, mostBytes: number = MOST_BYTES): ReadsInHand => {
  const semaphore = new FairSemaphore(mostBytes)
  const largest = new Map<string, { bytes: number; at: number }>()
  const expectedBytes = (workspaceId: string): number => {
    const known = largest.get(workspaceId)
    if (known && steadily() - known.at < REMEMBERED_MS) return known.bytes
    largest.delete(workspaceId)
    return USUAL_BYTES
  }
  return {
    whenBytesFit: (workspaceId, read, patienceMs) =>
      semaphore.tryRun({ workspaceId, permits: expectedBytes(workspaceId) }, read, patienceMs),
    takeAnswer: ({ workspaceId, bytes }) => {
      if (bytes >= expectedBytes(workspaceId)) largest.set(workspaceId, { bytes, at: steadily() })
      return semaphore.take({ workspaceId, permits: bytes })
    },
  }
}

import { FairSemaphore } from '../../runtime/fair-semaphore.ts'
import type { SubmissionState } from '../../contract/receipt.ts'
import type { AwaitProgress } from './await-progress.ts'

/** The bytes of answers that may wait in a process. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024
/** What the process keeps of a waiting submission, beside its answer. */
const BYTES_OF_WAIT = 1024

type WaitingAnswer = { workspaceId: string; submissionIds: readonly string[]; bytes: number; ms: number }

/**
 * The final states of submissions whose answer waits (`Prefer: wait`); undefined for a submission
 * that does not finish in time. If too many answers wait already, looks for no state: a client must
 * expect that its wait ends early.
 */
export type AwaitFinished = (answer: WaitingAnswer) => Promise<(SubmissionState | undefined)[]>

export const createAwaitFinished = (
  awaitProgress: AwaitProgress,
  mostBytes: number = MOST_WAITING_BYTES,
): AwaitFinished => {
  const waiting = new FairSemaphore(mostBytes)
  return async ({ workspaceId, submissionIds, bytes, ms }) => {
    const wait = (id: string) => awaitProgress({ workspaceId, id }, { until: 'finished', ms })
    const permits = bytes + submissionIds.length * BYTES_OF_WAIT
    const waited = await waiting.tryRun({ workspaceId, permits }, () => Promise.all(submissionIds.map(wait)), 0)
    return submissionIds.map((_, at) => waited?.[at]?.state)
  }
}

import type { SubmissionState } from '../contract/receipt.ts'
import type { SettledId } from '../db/submissions/receipts.ts'

const LOOK_EVERY_MS = 25

export type AwaitedSubmission = { workspaceId: string; id: string }
export type FindSettled = (submissions: readonly AwaitedSubmission[]) => Promise<SettledId[]>
export type AwaitSettled = (submission: AwaitedSubmission, ms: number) => Promise<SubmissionState | undefined>

type Waiting = AwaitedSubmission & { deadline: number; answer: (state: SubmissionState | undefined) => void }

/**
 * Waits until a submission is settled, or until its time is over (undefined). All who wait share one query at a time, which
 * is asked again while anybody waits. A query that fails is a look that saw nothing. When `stop` says that the process wants to
 * end, nobody waits any more.
 */
export const settledAwaiter = (find: FindSettled, now: () => number, stop: AbortSignal): AwaitSettled => {
  const waiting = new Map<string, Waiting>()
  let looking = false

  const look = async (): Promise<void> => {
    looking = true
    while (waiting.size > 0) {
      const settled = await find([...waiting.values()].map(({ workspaceId, id }) => ({ workspaceId, id }))).catch(
        () => [],
      )
      for (const { id, state } of settled) waiting.get(id)?.answer(state)
      for (const { deadline, answer } of waiting.values()) if (stop.aborted || now() >= deadline) answer(undefined)
      if (waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
    looking = false
  }

  return (submission, ms) =>
    new Promise((resolve) => {
      const answer = (state: SubmissionState | undefined): void => {
        waiting.delete(submission.id)
        resolve(state)
      }
      waiting.set(submission.id, { ...submission, deadline: now() + ms, answer })
      if (!looking) void look()
    })
}

import type { Progress } from '../../db/submissions/receipts.ts'

const LOOK_EVERY_MS = 25

type AwaitedSubmission = { workspaceId: string; id: string }
export type FindProgress = (submissions: readonly AwaitedSubmission[]) => Promise<Progress[]>

/**
 * `decided`: the submission has a receipt, which a purge gets with its decision. `finished`: the
 * state of the submission is final.
 */
type Milestone = 'decided' | 'finished'
export type AwaitProgress = (
  submission: AwaitedSubmission,
  wanted: { until: Milestone; ms: number },
) => Promise<Progress | undefined>

type WaitingRequest = AwaitedSubmission & {
  until: Milestone
  deadline: number
  answer: (progress: Progress | undefined) => void
}

/**
 * Waits until a submission reaches the milestone; undefined if the time ends first. All waiting
 * requests share one repeated query. A failed query counts as one without results. Once `stop` is
 * aborted, no request waits.
 */
export const createAwaitProgress = (find: FindProgress, now: () => number, stop: AbortSignal): AwaitProgress => {
  const waiting = new Set<WaitingRequest>()
  let isLooking = false

  const look = async (): Promise<void> => {
    isLooking = true
    while (waiting.size > 0) {
      await lookOnce(find, waiting, now)
      if (waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
    isLooking = false
  }

  stop.addEventListener('abort', () => {
    for (const { answer } of waiting) answer(undefined)
  })

  return (submission, { until, ms }) =>
    new Promise((resolve) => {
      if (stop.aborted) return resolve(undefined)
      const request: WaitingRequest = {
        ...submission,
        until,
        deadline: now() + ms,
        answer: (progress) => {
          waiting.delete(request)
          resolve(progress)
        },
      }
      waiting.add(request)
      if (!isLooking) void look()
    })
}

/** Answers the requests whose submission reached the milestone or whose time is over. */
const lookOnce = async (find: FindProgress, waiting: ReadonlySet<WaitingRequest>, now: () => number): Promise<void> => {
  const asked = [...waiting]
  const submissions = new Map(asked.map(({ workspaceId, id }) => [id, { workspaceId, id }]))
  const found = await find([...submissions.values()]).catch(() => [])
  const progressOf = new Map(found.map((progress) => [progress.id, progress]))
  for (const { id, until, deadline, answer } of asked) {
    const progress = progressOf.get(id)
    if (progress && (until === 'decided' || progress.state !== 'queued')) answer(progress)
    else if (now() >= deadline) answer(undefined)
  }
}

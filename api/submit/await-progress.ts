import type { SubmissionProgress } from '../../db/submissions/receipts.ts'

const LOOK_EVERY_MS = 25
/** A submission that is not there at this look waits for the pace of a worker. */
const LOOKS_BEFORE_HURRY = 2

type AwaitedSubmission = { workspaceId: string; id: string }
export type FindProgress = (submissions: readonly AwaitedSubmission[]) => Promise<SubmissionProgress[]>

/**
 * `decided`: the submission has a receipt, which a purge gets with its decision. `finished`: the
 * state of the submission is final.
 */
type Milestone = 'decided' | 'finished'
export type AwaitProgress = (
  submission: AwaitedSubmission,
  wanted: { until: Milestone; ms: number },
) => Promise<SubmissionProgress | undefined>

type WaitingRequest = AwaitedSubmission & {
  until: Milestone
  deadline: number
  looks: number
  answer: (progress: SubmissionProgress | undefined) => void
}

/**
 * Waits until a submission reaches the milestone; undefined if the time ends first. All waiting
 * requests share one repeated query. A failed query counts as one without results. Once `stop` is
 * aborted, no request waits. `hurry` wakes a worker, which then takes the log at once.
 */
export const createAwaitProgress = (
  find: FindProgress,
  { now, stop, hurry }: { now: () => number; stop: AbortSignal; hurry: (workspaceId: string) => void },
): AwaitProgress => {
  const waiting = new Set<WaitingRequest>()
  let isLooking = false

  const look = async (): Promise<void> => {
    isLooking = true
    while (waiting.size > 0) {
      await lookOnce({ find, now, hurry }, waiting)
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
        looks: 0,
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
const lookOnce = async (
  { find, now, hurry }: { find: FindProgress; now: () => number; hurry: (workspaceId: string) => void },
  waiting: ReadonlySet<WaitingRequest>,
): Promise<void> => {
  const asked = [...waiting]
  const submissions = new Map(asked.map(({ workspaceId, id }) => [id, { workspaceId, id }]))
  const found = await find([...submissions.values()]).catch(() => [])
  const progressOf = new Map(found.map((progress) => [progress.id, progress]))
  for (const request of asked) {
    const { workspaceId, id, until, deadline, answer } = request
    const progress = progressOf.get(id)
    if (progress && (until === 'decided' || progress.state !== 'queued')) answer(progress)
    else if (now() >= deadline) answer(undefined)
    else if (++request.looks === LOOKS_BEFORE_HURRY) hurry(workspaceId)
  }
}

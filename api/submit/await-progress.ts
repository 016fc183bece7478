import type { SubmissionProgress } from '../../db/submissions/receipts.ts'

const LOOK_EVERY_MS = 25
/** A submission that is not there at this look waits for the pace of a worker. */
const LOOKS_BEFORE_HURRY = 2
/**
 * A look asks for the first waiting submissions of each workspace. Submissions are applied in their
 * order, so the others seldom finish before these.
 */
const FIRST_ASKED = 100
/** A look also asks for new submissions of a workspace: a repeated one may have finished long ago. */
const NEW_ASKED = 1_000

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

/** The waiting requests of a workspace, in their order. */
type WaitingSubmissions = { all: Set<WaitingRequest>; unasked: Set<WaitingRequest> }
type WaitingByWorkspace = Map<string, WaitingSubmissions>

type LookSteps = { find: FindProgress; now: () => number; hurry: (workspaceId: string) => void }

/**
 * Waits until a submission reaches the milestone; undefined if the time ends first. All waiting
 * requests share one repeated query. A failed query counts as one without results. Once `stop` is
 * aborted, no request waits. `hurry` wakes a worker, which then takes the log at once.
 */
export const createAwaitProgress = (
  find: FindProgress,
  { now, stop, hurry }: Omit<LookSteps, 'find'> & { stop: AbortSignal },
): AwaitProgress => {
  const waiting: WaitingByWorkspace = new Map()
  let isLooking = false

  const look = async (): Promise<void> => {
    isLooking = true
    while (waiting.size > 0) {
      const isMoving = await lookOnce({ find, now, hurry }, waiting)
      if (waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, isMoving ? 0 : LOOK_EVERY_MS))
    }
    isLooking = false
  }

  stop.addEventListener('abort', () => {
    for (const { all } of waiting.values()) for (const { answer } of all) answer(undefined)
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
          remove(waiting, request)
          resolve(progress)
        },
      }
      add(waiting, request)
      if (!isLooking) void look()
    })
}

const add = (waiting: WaitingByWorkspace, request: WaitingRequest): void => {
  const own = waiting.get(request.workspaceId) ?? { all: new Set(), unasked: new Set() }
  waiting.set(request.workspaceId, own)
  own.all.add(request)
  own.unasked.add(request)
}

const remove = (waiting: WaitingByWorkspace, request: WaitingRequest): void => {
  const own = waiting.get(request.workspaceId)
  own?.all.delete(request)
  own?.unasked.delete(request)
  if (own?.all.size === 0) waiting.delete(request.workspaceId)
}

/**
 * Answers the requests whose submission reached the milestone or whose time is over. Returns
 * whether so many were answered that further ones may be done.
 */
const lookOnce = async ({ find, now, hurry }: LookSteps, waiting: WaitingByWorkspace): Promise<boolean> => {
  const asked = [...waiting.values()].flatMap((own) => [...takeAsked(own)])
  const submissions = new Map(asked.map(({ workspaceId, id }) => [id, { workspaceId, id }]))
  const found = await find([...submissions.values()]).catch(() => [])
  const progressOf = new Map(found.map((progress) => [progress.id, progress]))
  let reached = 0
  for (const request of asked) {
    const progress = progressOf.get(request.id)
    if (progress && (request.until === 'decided' || progress.state !== 'queued')) {
      reached++
      request.answer(progress)
    } else if (++request.looks === LOOKS_BEFORE_HURRY) hurry(request.workspaceId)
  }
  const at = now()
  for (const { all } of waiting.values()) {
    for (const { deadline, answer } of all) if (at >= deadline) answer(undefined)
  }
  return reached >= FIRST_ASKED
}

const takeAsked = ({ all, unasked }: WaitingSubmissions): Set<WaitingRequest> => {
  const asked = new Set([...firstOf(all, FIRST_ASKED), ...firstOf(unasked, NEW_ASKED)])
  for (const request of asked) unasked.delete(request)
  return asked
}

const firstOf = <T>(set: ReadonlySet<T>, most: number): T[] => [...set.values().take(most)]

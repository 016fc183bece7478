import type { SubmissionState } from '../../contract/receipt.ts'
import {
  type Answer,
  type Intake,
  type IntakeDependencies,
  type IntakeOutcome,
  isRefused,
  type Valid,
} from './intake.ts'
import { waitSeconds } from './preferences.ts'

const MS_PER_SECOND = 1_000

/** `waited`: the caller asked to wait; `state` is undefined when it was not finished in time. */
export type AcceptedAnswer = Answer & { submissionId: string; waited?: { state: SubmissionState | undefined } }

/**
 * The answer to an accepted submission. A repeated request with the same idempotency key gets the
 * same answer.
 */
export const answer = async (
  dependencies: IntakeDependencies,
  intake: Intake<Valid | 'admitted'>,
): Promise<AcceptedAnswer> => {
  const { request, kind, workspaceId, admitted } = intake
  const { submissionId } = admitted
  const seconds = waitSeconds(request.headers)
  // Both wait at the same time, so that the request ends in time: a purge waits for its decision.
  const [made, finished] = await Promise.all([
    kind.answer(dependencies, intake),
    seconds !== undefined &&
      dependencies.awaitProgress({ workspaceId, id: submissionId }, { until: 'finished', ms: seconds * MS_PER_SECOND }),
  ])
  return { ...made, submissionId, ...(finished !== false && { waited: { state: finished?.state } }) }
}

/** The outcome of a requested operation, for the metrics. */
export const outcomeOf = (operation: IntakeOutcome['operation'], outcome: object): IntakeOutcome => {
  const refusal = isRefused(outcome) ? outcome.refusal : undefined
  return {
    operation,
    result: refusal?.refused ?? 'accepted',
    ...(refusal && 'why' in refusal && { why: refusal.why }),
  }
}

/** The reason of a refusal, for the trace. */
export const refusedAttribute = (outcome: object): Record<string, string> => {
  const refusal = isRefused(outcome) ? outcome.refusal : undefined
  if (refusal === undefined) return {}
  return { 'feedback_insights.refused': 'why' in refusal ? `${refusal.refused} ${refusal.why}` : refusal.refused }
}

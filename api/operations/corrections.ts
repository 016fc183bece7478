import { correction, deletion } from '../../contract/correction.ts'
import { NO_SUCH_RECORD, whyPostgres } from '../http/refusal.ts'
import { faultIds } from '../http/request-id.ts'
import type { Intake, IntakeDependencies, StatusAndBody, SubmissionKind } from '../submit/intake.ts'

/** A record can still be queued, so the answer waits at most this long to know that it exists. */
const DECIDED_WITHIN_MS = 10_000

/** 404 if the record is neither stored nor queued. */
const OF_RECORD: Pick<SubmissionKind<'correct_feedback' | 'delete_feedback'>, 'refuseByStored' | 'answer'> = {
  refuseByStored: async ({ hasFeedback, onFault }, { request, workspaceId, body }, { isLogEmpty }) => {
    try {
      const isStored = await hasFeedback(workspaceId, body.id)
      return isStored || !isLogEmpty ? undefined : { refused: 'no-such-record' }
    } catch (error) {
      onFault('feedback_look_up_failed', error, faultIds(request, { workspaceId }))
      return { refused: 'unavailable', why: whyPostgres(error) }
    }
  },
  answer: (dependencies, intake) => {
    const { admitted, body } = intake
    const isSure =
      admitted.outcome === 'admitted' && admitted.isLogEmpty && !('themeId' in body && body.themeId != null)
    return isSure ? SUCCESS : answerDecided(dependencies, intake, SUCCESS)
  },
}

export const SUCCESS: StatusAndBody = { status: 200, body: { success: true } }

/** The answer when the submission is decided: 404 if a record that it names does not exist. */
export const answerDecided = async (
  { awaitProgress }: IntakeDependencies,
  { workspaceId, admitted }: Pick<Intake<'workspaceId' | 'admitted'>, 'workspaceId' | 'admitted'>,
  answer: StatusAndBody,
): Promise<StatusAndBody> => {
  const submission = { workspaceId, id: admitted.submissionId }
  const decided = await awaitProgress(submission, { until: 'decided', ms: DECIDED_WITHIN_MS })
  return decided?.state === 'superseded' || decided?.isUnmatched === true
    ? { status: 404, body: { error: NO_SUCH_RECORD } }
    : answer
}

/** PATCH /feedbacks/{id} */
export const correctFeedback: SubmissionKind<'correct_feedback'> = {
  operation: 'correct_feedback',
  needs: 'edit',
  schema: correction,
  ...OF_RECORD,
}

/** DELETE /feedbacks/{id} */
export const deleteFeedback: SubmissionKind<'delete_feedback'> = {
  operation: 'delete_feedback',
  needs: 'admin',
  schema: deletion,
  hasNoBody: true,
  ...OF_RECORD,
}

import { feedbackRecord, feedbackSourceData } from '../../contract/feedback-record.ts'
import type { Feedback } from '../../contract/record-schemas.ts'
import type { Intake, IntakeDependencies, SubmissionKind, Valid } from '../submit/intake.ts'

/** POST /feedbacks: 201 with some members of the record that the worker will store. */
export const createFeedback: SubmissionKind<'create_feedback'> = {
  operation: 'create_feedback',
  needs: 'submit',
  schema: feedbackRecord,
  answer: async (dependencies, intake) => ({
    status: 201,
    body: { feedback: await feedbackAnswer(dependencies, intake) },
  }),
}

/** Leaves out members without a value. */
const feedbackAnswer = async (
  { hashKey, resolveFeedbackId, resolveReferences }: IntakeDependencies,
  { workspaceId, body, admitted }: Intake<Valid | 'admitted', 'create_feedback'>,
): Promise<Feedback> => {
  const { submissionId, number, isLogEmpty, isIdentifyWaiting, isPurgeWaiting, hadPurges } = admitted
  const realm = { hashKey, workspaceId }
  const log = { isLogEmpty, isIdentifyWaiting, isPurgeWaiting, hadPurges }
  const id = await resolveFeedbackId({ realm, submissionId, number, record: body, log })
  const { contactId, projectId } = await resolveReferences({
    realm,
    submissionId,
    number,
    feedbackId: id,
    record: body,
    log,
  })
  const sourceData = feedbackSourceData(body)
  return {
    id,
    description: body.description,
    ...(contactId !== null && { customerId: contactId }),
    ...(projectId !== null && { projectId }),
    ...(body.rating != null && { rating: body.rating }),
    ...(body.sourceId != null && { sourceId: body.sourceId }),
    ...(sourceData !== null && { sourceData }),
  }
}

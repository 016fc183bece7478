import { feedbackRecord } from '../db/contract/feedback-record.ts'
import type { JobOf } from '../db/contract/job.ts'
import { feedbackReferences, type References } from '../db/contract/reference.ts'
import { feedbackId, feedbackSource, feedbackSourceData } from '../db/contract/stored-feedback.ts'
import { keysToLookUp } from '../db/identity.ts'
import type { Admitted, Ingress, SubmissionKind } from './submit.ts'

/** POST /feedbacks: 201 with the record as it will be stored; members without a value are left out. */
export const createFeedback: SubmissionKind<'create_feedback', typeof feedbackRecord> = {
  operation: 'create_feedback',
  needs: 'submit',
  schema: feedbackRecord,
  lookUp: (ingress, job) => keysToLookUp(referencesOf(ingress, job)),
  respond: async (ingress, job, admitted) => ({
    status: 201,
    body: { feedback: await answered(ingress, job, admitted) },
  }),
}

/** A feedback as the answer has it: as it will be stored, members without a value left out. */
export type Feedback = {
  id: string
  description: string
  customerId?: string
  projectId?: string
  rating?: number
  sourceId?: string
  sourceData?: object
}

const idOf = ({ hashKey }: Ingress, { body, workspaceId, submissionId }: JobOf<'create_feedback'>): string =>
  feedbackId({ hashKey, workspaceId, submissionId }, body)

const referencesOf = (ingress: Ingress, job: JobOf<'create_feedback'>): References => {
  const { body, workspaceId, number } = job
  return feedbackReferences({ hashKey: ingress.hashKey, workspaceId, number, recordId: idOf(ingress, job) }, body)
}

const answered = async (
  ingress: Ingress,
  job: JobOf<'create_feedback'>,
  { queued, purgesQueued }: Admitted,
): Promise<Feedback> => {
  const { body, workspaceId, number } = job
  const id = idOf(ingress, job)
  const references = referencesOf(ingress, job)
  const meant = await ingress.resolveReferences({
    workspaceId,
    number,
    source: feedbackSource(body),
    references,
    queued,
    purgesQueued,
  })
  const sourceData = feedbackSourceData(body)
  return {
    id,
    description: body.description,
    ...(meant.contact !== null && { customerId: meant.contact }),
    ...(meant.project !== null && { projectId: meant.project }),
    ...(body.rating != null && { rating: body.rating }),
    ...(body.sourceId != null && { sourceId: body.sourceId }),
    ...(sourceData !== null && { sourceData }),
  }
}

import { feedbackRecord } from '../db/contract/feedback-record.ts'
import type { JobOf } from '../db/contract/job.ts'
import { feedbackReferences } from '../db/contract/reference.ts'
import { feedbackId, feedbackSource, feedbackSourceData } from '../db/contract/stored-feedback.ts'
import type { Ingress, SubmissionKind } from './submit.ts'

/** POST /feedbacks: 201 with the record as it will be stored; members without a value are left out. */
export const createFeedback: SubmissionKind<'create_feedback', typeof feedbackRecord> = {
  operation: 'create_feedback',
  needs: 'submit',
  schema: feedbackRecord,
  respond: async (ingress, job) => ({ status: 201, body: { feedback: await answered(ingress, job) } }),
}

type Feedback = {
  id: string
  description: string
  customerId?: string
  projectId?: string
  rating?: number
  sourceId?: string
  sourceData?: object
}

const answered = async (ingress: Ingress, job: JobOf<'create_feedback'>): Promise<Feedback> => {
  const { body, workspaceId, number } = job
  const { hashKey } = ingress
  const id = feedbackId({ hashKey, workspaceId, submissionId: job.submissionId }, body)
  const references = feedbackReferences({ hashKey, workspaceId, number, recordId: id }, body)
  const meant = await ingress.resolveReferences({ workspaceId, number, source: feedbackSource(body), references })
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

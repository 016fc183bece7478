import { storableDateTime } from '../../contract/date-time.ts'
import type { JobOf } from '../../contract/job.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import { feedbackReferences } from '../../contract/identity/reference.ts'
import { feedbackId, feedbackSource, feedbackSourceData } from '../../contract/stored-feedback.ts'
import type { FeedbackRow } from '../../db/store.ts'

/** A feedback submission as a row. Whom its references mean is decided where the row is stored. */
export const feedbackRow = (hashKey: HashKey, job: JobOf<'create_feedback'>): FeedbackRow => {
  const { body, workspaceId, number } = job
  const id = feedbackId({ hashKey, workspaceId, submissionId: job.submissionId }, body)
  const references = feedbackReferences({ hashKey, workspaceId, number, recordId: id }, body)
  return {
    id,
    description: body.description,
    title: body.title ?? null,
    is_transcript: body.isTranscript ?? null,
    tags: body.tags ? givenTags(body.tags) : null,
    rating: body.rating ?? null,
    source: feedbackSource(body),
    source_id: body.sourceId ?? null,
    source_data: feedbackSourceData(body),
    source_created_at: body.createdAt == null ? null : storableDateTime(body.createdAt),
    number,
    contact_ref: references.contact,
    account_ref: references.account,
    project_ref: references.project,
  }
}

/** Tags that people gave, as they wrote them, but trimmed and without doubles and blanks. */
const givenTags = (tags: readonly string[]): string[] => [
  ...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== '')),
]

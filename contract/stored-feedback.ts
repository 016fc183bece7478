import type { FeedbackRecord } from './feedback-record.ts'
import type { JsonObject } from './json.ts'
import { ownId, type Realm } from './identity/own-id.ts'
import { unflattenIf } from './unflatten.ts'

/** The default source of contacts, accounts and feedback. */
export const DEFAULT_SOURCE = 'API'

/** The stored source of a feedback. */
export const feedbackSource = (record: FeedbackRecord): string => record.source ?? DEFAULT_SOURCE

/** The stored source data of a feedback; null if there is none. */
export const feedbackSourceData = (record: FeedbackRecord): JsonObject | null => {
  if (record.sourceData == null) return null
  return unflattenIf(record.shouldUnflattenSourceData, record.sourceData)
}

/**
 * The id of a feedback. Submissions with the same source and `sourceId` share one. Without a
 * `sourceId` it is the submission's id.
 */
export const feedbackId = (
  { submissionId, ...realm }: Realm & { submissionId: string },
  record: FeedbackRecord,
): string =>
  record.sourceId == null ? submissionId : ownId(realm, 'feedback', feedbackSource(record), record.sourceId)

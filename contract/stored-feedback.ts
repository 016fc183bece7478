import type { FeedbackRecord } from './feedback-record.ts'
import type { JsonObject } from './json.ts'
import { ownId, type Realm } from './identity/own-id.ts'
import { unflattenIf } from './unflatten.ts'

/** Where contacts and accounts are created when nobody names a source; also the source of a feedback without one. */
export const DEFAULT_SOURCE = 'API'

/** Source of a feedback as it is stored. */
export const feedbackSource = (record: FeedbackRecord): string => record.source ?? DEFAULT_SOURCE

/** Source data as it is stored; null when there is none. */
export const feedbackSourceData = (record: FeedbackRecord): JsonObject | null => {
  if (record.sourceData == null) return null
  return unflattenIf(record.shouldUnflattenSourceData, record.sourceData)
}

/** The id of a feedback: the same for every submission of one record; a record of its own without `sourceId`. */
export const feedbackId = (
  { submissionId, ...realm }: Realm & { submissionId: string },
  record: FeedbackRecord,
): string =>
  record.sourceId == null ? submissionId : ownId(realm, 'feedback', feedbackSource(record), record.sourceId)

import { feedbackKey, type FeedbackRecord } from '../contract/feedback-record.ts'
import { idOfEpoch, type Realm } from '../contract/identity/keys.ts'
import { findEpochs } from '../db/identity/references.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { coalesce } from '../runtime/coalesce.ts'
import { withinTime } from '../runtime/within-time.ts'
import type { LogState } from '../queue/admission/call-admit.ts'
import type { AwaitProgress } from './submit/await-progress.ts'

/** An admitted feedback, its acceptance number, and the state of the log at its admission. */
type IdQuestion = {
  realm: Realm
  submissionId: string
  number: number
  record: FeedbackRecord
  log: Pick<LogState, 'isPurgeWaiting' | 'hadPurges'>
}
export type ResolveFeedbackId = (question: IdQuestion) => Promise<string>

/** How long an answer waits for its feedback to be applied, while a removal is queued. */
const APPLIED_WITHIN_MS = 300
const TOGETHER = { items: 500 }

type IdDependencies = {
  sql: Sql
  timeoutMs: number
  awaitProgress: AwaitProgress
  /** Whether Postgres has known of removals since this process connected to Redis. */
  hadPurges: (workspaceId: string) => Promise<boolean>
}

/**
 * Finds the own id that the stored feedback will have. Only the deletion of a feedback gives its key
 * another id. If this cannot be determined in time, the id is that of the stored epoch, or else the
 * first one.
 */
export const createResolveFeedbackId = ({
  sql,
  timeoutMs,
  awaitProgress,
  hadPurges,
}: IdDependencies): ResolveFeedbackId => {
  const find = coalesce(
    (asked: readonly { workspaceId: string; key: string }[]) => withinTime(findEpochs(sql, asked), timeoutMs),
    TOGETHER,
  )
  return async ({ realm, submissionId, number, record, log }) => {
    const key = feedbackKey(realm, record)
    const { workspaceId } = realm
    if (key === undefined) return submissionId
    if (!log.hadPurges && !(await hadPurges(workspaceId))) return key
    if (log.isPurgeWaiting)
      await awaitProgress({ workspaceId, id: submissionId }, { until: 'finished', ms: APPLIED_WITHIN_MS })
    const { epoch, number: endedAt } = await find({ workspaceId, key }).catch(() => ({ epoch: 0, number: 0 }))
    return idOfEpoch(key, endedAt > number ? epoch - 1 : epoch)
  }
}

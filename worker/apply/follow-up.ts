import { conversationId } from '../../contract/conversation-record.ts'
import type { HashKey } from '../../contract/identity/keys.ts'
import type { RemovalJob, TaggingJob } from '../../contract/jobs.ts'
import type { SubmissionState } from '../../contract/receipt.ts'
import { feedbackId } from '../../contract/feedback-record.ts'
import { isRemoval, type Submission } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { findPurgesUnderWay } from '../../db/purges/removal.ts'
import { findMissingReceipts } from '../../db/submissions/receipts.ts'
import type { Logger } from '../../runtime/logger.ts'
import { addRemovals, type JobQueues } from '../../queue/jobs/job-queues.ts'
import type { Log } from '../../queue/log/log.ts'
import type { LearningPace } from '../tagging/learning-pace.ts'
import type { Ending, StrideSpans } from '../trace-jobs.ts'
import type { StrideOutcome } from './stride-outcome.ts'

/**
 * Called for each submission that this worker has applied or set aside; not for a decided purge.
 */
export type OnSettled = (
  submission: Submission,
  state: SubmissionState,
  how: { attempts: number; isDeep: boolean },
) => void

export type FollowUpDependencies = {
  sql: Sql
  hashKey: HashKey
  logs: Log
  queues: JobQueues
  log: Logger
  /** Resolves once Redis has the jobs. */
  addTagging: (jobs: readonly TaggingJob[]) => Promise<void>
  pace: LearningPace
  onSettled: OnSettled
}

type Applied = { workspaceId: string; outcome: StrideOutcome }

/**
 * Adds the jobs that applied submissions need, before their entries are trimmed. Also adds the jobs
 * of found submissions: the worker that applied them may have died before this step. Returns the
 * endings of the applied and decided submissions, by id.
 */
export const followUp = async (
  dependencies: FollowUpDependencies,
  { applied, spans, isDeep }: { applied: readonly Applied[]; spans: StrideSpans; isDeep: boolean },
): Promise<Map<string, Ending>> => {
  const endings = new Map<string, Ending>()
  const tagging: TaggingJob[] = []
  const removals: RemovalJob[] = []
  for (const { workspaceId, outcome } of applied) {
    const found = await withReceipts(dependencies, workspaceId, outcome)
    const decided = outcome.decided.map(({ submissionId }) => submissionId)
    for (const id of decided) endings.set(id, { state: 'queued' })
    for (const { submission, state } of outcome.applied) {
      endings.set(submission.submissionId, { state })
      dependencies.onSettled(submission, state, { attempts: 1, isDeep })
    }
    const toTag = outcome.applied.flatMap(({ submission, state }) => (state === 'applied' ? submission : []))
    const wanted = wantedTagging({ ...dependencies, spans }, workspaceId, [...toTag, ...found])
    if (wanted) tagging.push(wanted)
    const purgeIds = [...decided, ...(await findUnfinished(dependencies, workspaceId, found))]
    removals.push(...purgeIds.map((purgeId) => ({ workspaceId, purgeId })))
  }
  await Promise.all([dependencies.addTagging(tagging), addRemovals(dependencies.queues, removals)])
  return endings
}

/**
 * Returns the found submissions that have a receipt, and appends the others again. After a failover
 * of Redis, a submission can get a number at or below the position. Then it has no receipt.
 */
const withReceipts = async (
  { sql, logs, log }: FollowUpDependencies,
  workspaceId: string,
  outcome: StrideOutcome,
): Promise<readonly Submission[]> => {
  const { found } = outcome
  if (found.length === 0 || !('position' in outcome)) return []
  const ids = found.map(({ submissionId }) => submissionId)
  const missing = new Set(await findMissingReceipts(sql, workspaceId, ids))
  const lost = found.filter(({ submissionId }) => missing.has(submissionId))
  if (lost.length > 0) {
    log('warn', 'appended_again', { workspaceId, submissions: lost.length })
    await logs.append(lost, outcome.position)
  }
  return found.filter(({ submissionId }) => !missing.has(submissionId))
}

/** The found removals whose records are being removed. */
const findUnfinished = async (
  { sql }: FollowUpDependencies,
  workspaceId: string,
  found: readonly Submission[],
): Promise<string[]> => {
  const ids = found.filter(isRemoval).map(({ submissionId }) => submissionId)
  return ids.length === 0 ? [] : findPurgesUnderWay(sql, workspaceId, ids)
}

/** `lesson`: the tagger can learn from its tags. */
type TaggableRecord = {
  submission: Submission
  kind: 'feedback' | 'conversation'
  id: string
  need: 'tags' | 'lesson' | 'index'
}

type TaggingNeeds = Pick<FollowUpDependencies, 'hashKey' | 'pace'> & { spans: StrideSpans }

/**
 * The tagging job for applied submissions of one workspace: records to tag, and some feedback with
 * tags to learn from, as the pace allows. All other feedback is only to be indexed for the search.
 */
const wantedTagging = (
  { hashKey, pace, spans }: TaggingNeeds,
  workspaceId: string,
  applied: readonly Submission[],
): TaggingJob | undefined => {
  const wanted = applied.flatMap((submission) => wantedFor(hashKey, submission))
  if (wanted.length === 0) return undefined
  const untagged = wanted.filter(({ need }) => need === 'tags')
  const tagged = wanted.filter(({ need }) => need === 'lesson')
  const chosen = new Set([...untagged, ...pace.choose(workspaceId, tagged)])
  const idsOf = (records: Iterable<TaggableRecord>, wantedKind: TaggableRecord['kind']): string[] => [
    ...new Set([...records].flatMap(({ kind, id }) => (kind === wantedKind ? id : []))),
  ]
  const feedbackIds = idsOf(chosen, 'feedback')
  const others = wanted.filter((record) => !chosen.has(record))
  const indexedIds = idsOf(others, 'feedback').filter((id) => !feedbackIds.includes(id))
  const traceparents = [...chosen].flatMap(({ submission }) => spans.get(submission.submissionId)?.traceparent ?? [])
  return {
    workspaceId,
    feedbackIds,
    conversationIds: idsOf(chosen, 'conversation'),
    ...(indexedIds.length > 0 && { indexedIds }),
    ...(traceparents.length > 0 && { traceparents }),
  }
}

/**
 * The records whose texts a tagger has to read. A feedback whose list of tags is empty or blank needs no
 * tags and teaches nothing about them.
 */
const wantedFor = (hashKey: HashKey, submission: Submission): TaggableRecord[] => {
  const { workspaceId, submissionId, operation, body } = submission
  const realm = { hashKey, workspaceId }
  const feedback = (id: string, need: TaggableRecord['need']): TaggableRecord => ({
    submission,
    kind: 'feedback',
    id,
    need,
  })
  switch (operation) {
    case 'submit_conversation':
      return [{ submission, kind: 'conversation', id: conversationId(realm, body), need: 'tags' }]
    case 'create_feedback':
      return [feedback(feedbackId({ ...realm, submissionId }, body), needOf(body.tags))]
    case 'correct_feedback': {
      const isRead = body.kind !== undefined || body.themeId !== undefined
      const need = needOf(body.tags)
      // Other corrections leave what was found in the text.
      return isRead || (body.tags !== undefined && need !== 'index') ? [feedback(body.id, isRead ? 'tags' : need)] : []
    }
    case 'create_theme':
      return body.feedbackIds.map((id) => feedback(id, 'tags'))
    case 'edit_theme':
      return [...(body.feedbackIds ?? []), ...(body.removedFeedbackIds ?? [])].map((id) => feedback(id, 'tags'))
    case 'identify_contact':
    case 'identify_account':
    case 'purge_contact':
    case 'delete_feedback':
      return []
  }
}

const needOf = (tags: readonly string[] | null | undefined): TaggableRecord['need'] => {
  if (tags == null) return 'tags'
  return tags.some((tag) => tag.trim() !== '') ? 'lesson' : 'index'
}

import { type HashKey, ownId } from '../../contract/identity/own-id.ts'
import type { TaggingJob } from '../../contract/jobs.ts'
import { feedbackId } from '../../contract/stored-feedback.ts'
import type { Submission } from '../../contract/submission.ts'
import type { LearningPace } from './learning-pace.ts'

type Wanted = { submission: Submission; record: string; hasTags: boolean }

type TaggingNeeds = {
  hashKey: HashKey
  pace: LearningPace
  traceparentOf: (submissionId: string) => string | undefined
}

/**
 * The tagging job for applied submissions of one workspace. The tagger also learns from some of the
 * feedback that people tagged, as the pace allows.
 */
export const wantedTagging = (
  { hashKey, pace, traceparentOf }: TaggingNeeds,
  workspaceId: string,
  applied: readonly Submission[],
): TaggingJob | undefined => {
  const wanted = applied.flatMap((submission) => wantedFor(hashKey, submission) ?? [])
  const [tagged, untagged] = [wanted.filter(({ hasTags }) => hasTags), wanted.filter(({ hasTags }) => !hasTags)]
  const chosen = [...untagged, ...pace.choose(workspaceId, tagged)]
  if (chosen.length === 0) return undefined
  const idsOf = (operation: Submission['operation']): string[] => [
    ...new Set(chosen.flatMap(({ submission, record }) => (submission.operation === operation ? record : []))),
  ]
  const traceparents = chosen.flatMap(({ submission }) => traceparentOf(submission.submissionId) ?? [])
  return {
    workspaceId,
    feedbackIds: idsOf('create_feedback'),
    conversationIds: idsOf('submit_conversation'),
    ...(traceparents.length > 0 && { traceparents }),
  }
}

/** A feedback with an empty list of tags needs no tags and teaches nothing. */
const wantedFor = (hashKey: HashKey, submission: Submission): Wanted | undefined => {
  const { workspaceId, submissionId, operation, body } = submission
  const realm = { hashKey, workspaceId }
  if (operation === 'submit_conversation') {
    return { submission, record: ownId(realm, 'conversation', body.source, body.id), hasTags: false }
  }
  if (operation !== 'create_feedback') return undefined
  const hasTags = body.tags?.some((tag) => tag.trim() !== '') ?? false
  if (body.tags != null && !hasTags) return undefined
  return { submission, record: feedbackId({ ...realm, submissionId }, body), hasTags }
}

import { contactRecord } from '../../contract/contact-record.ts'
import { purgeRequest } from '../../contract/purge-request.ts'
import { faultIds } from '../http/request-id.ts'
import { NO_SUCH_CONTACT, whyPostgres } from '../http/refusal.ts'
import type { SubmissionKind } from '../submit/intake.ts'

/** POST /contacts/identify */
export const identifyContact: SubmissionKind<'identify_contact'> = {
  operation: 'identify_contact',
  needs: 'submit',
  schema: contactRecord,
  answer: () => ({ status: 201, body: { success: true } }),
}

/**
 * The answer waits for the decision of the purge at most this long. After that time, a 200 means
 * only that the purge was accepted.
 */
const DECIDED_WITHIN_MS = 10_000

/**
 * POST /contacts/purge: 404 when nothing matches; 200 means that the purge was accepted and will
 * finish.
 */
export const purgeContact: SubmissionKind<'purge_contact'> = {
  operation: 'purge_contact',
  needs: 'admin',
  schema: purgeRequest,
  refuseByStored: async ({ canPurgeMatch, onFault }, { request, workspaceId, body }, { isLogEmpty }) => {
    try {
      // Ask Postgres even if the log is not empty: without Postgres, the API accepts no purge.
      const canMatch = await canPurgeMatch(workspaceId, body)
      return canMatch || !isLogEmpty ? undefined : { refused: 'no-such-contact' }
    } catch (error) {
      onFault('purge_look_up_failed', error, faultIds(request, { workspaceId }))
      return { refused: 'unavailable', why: whyPostgres(error) }
    }
  },
  answer: async ({ awaitProgress }, { workspaceId, admitted }) => {
    const submission = { workspaceId, id: admitted.submissionId }
    const decided = await awaitProgress(submission, { until: 'decided', ms: DECIDED_WITHIN_MS })
    return decided?.isUnmatched === true
      ? { status: 404, body: { error: NO_SUCH_CONTACT } }
      : { status: 200, body: { success: true } }
  },
}

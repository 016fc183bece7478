import { contactRecord } from '../../contract/contact-record.ts'
import { purgeRequest } from '../../contract/purge-request.ts'
import { faultIds } from '../fault-ids.ts'
import { sayingsAlone, type SubmissionKind } from './submission-kind.ts'

/** POST /contacts/identify */
export const identifyContact: SubmissionKind<'identify_contact'> = {
  operation: 'identify_contact',
  needs: 'submit',
  schema: contactRecord,
  groundsOf: sayingsAlone,
  respond: () => ({ status: 201, body: { success: true } }),
}

/** POST /contacts/purge: 404 when nobody matches; 200 means that the purge was accepted and will finish. */
export const purgeContact: SubmissionKind<'purge_contact'> = {
  operation: 'purge_contact',
  needs: 'admin',
  schema: purgeRequest,
  check: async ({ matchesPurge, onFault }, draft, request) => {
    try {
      return (await matchesPurge(draft.workspaceId, draft.body)) ? undefined : { refused: 'no-such-contact' }
    } catch (error) {
      onFault('purge_look_up_failed', error, faultIds(request, draft))
      return { refused: 'unavailable', why: 'postgres' }
    }
  },
  groundsOf: sayingsAlone,
  respond: () => ({ status: 200, body: { success: true } }),
}

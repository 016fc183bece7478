import { accountRecord } from '../../contract/contact-record.ts'
import { sayingsAlone, type SubmissionKind } from './submission-kind.ts'

/** POST /accounts/identify */
export const identifyAccount: SubmissionKind<'identify_account'> = {
  operation: 'identify_account',
  needs: 'submit',
  schema: accountRecord,
  groundsOf: sayingsAlone,
  respond: () => ({ status: 201, body: { success: true } }),
}

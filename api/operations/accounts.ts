import { accountRecord } from '../../contract/contact-record.ts'
import type { SubmissionKind } from '../submit/intake.ts'

/** POST /accounts/identify */
export const identifyAccount: SubmissionKind<'identify_account'> = {
  operation: 'identify_account',
  needs: 'submit',
  schema: accountRecord,
  answer: () => ({ status: 201, body: { success: true } }),
}

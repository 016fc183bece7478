import { accountRecord } from '../db/contract/contact-record.ts'
import type { SubmissionKind } from './submit.ts'

/** POST /accounts/identify */
export const identifyAccount: SubmissionKind<'identify_account', typeof accountRecord> = {
  operation: 'identify_account',
  needs: 'submit',
  schema: accountRecord,
  respond: () => ({ status: 201, body: { success: true } }),
}

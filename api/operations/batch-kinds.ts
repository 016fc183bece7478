import { identifyAccount } from './accounts.ts'
import { identifyContact } from './contacts.ts'
import { submitConversation } from './conversations.ts'
import { createFeedback } from './feedbacks.ts'

/** The kinds of the items of a batch. */
export const BATCH_KINDS = {
  create_feedback: createFeedback,
  identify_contact: identifyContact,
  identify_account: identifyAccount,
  submit_conversation: submitConversation,
}

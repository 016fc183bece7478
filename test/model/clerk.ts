import type { ContactRecord } from '../../contract/contact-record.ts'
import type { Submission } from '../../contract/submission.ts'
import type { Realm } from '../../contract/identity/keys.ts'
import { DEFAULT_SOURCE } from '../../contract/feedback-record.ts'
import { identifyAccount, openAccounts, type Accounts } from './accounts.ts'
import { identifyContact, openContacts, type Contacts } from './contacts.ts'
import { submitConversation, type Conversation } from './conversations.ts'
import { correctFeedback, createFeedback, type Feedback } from './feedbacks.ts'
import { type Moment, type Profile, touch } from './profile.ts'
import { deleteFeedback, purge } from './purge.ts'
import { createTheme, editTheme, type Theme } from './themes.ts'
import { type Claims, openRegister, type Register } from './register.ts'

/** The state of one workspace. */
export type Clerk = {
  readonly contacts: Contacts
  readonly accounts: Accounts
  readonly projects: Register
  /** By own id. */
  readonly feedbacks: Map<string, Feedback>
  /** How often the feedback of a key was deleted. */
  readonly feedbackEpochs: Map<string, number>
  /** By own id. */
  readonly themes: Map<string, Theme>
  /** All ratings that each source has sent. */
  readonly ratings: Map<string, number[]>
  /** By own id. */
  readonly conversations: Map<string, Conversation>
  /** The ids of superseded replays. */
  readonly superseded: Set<string>
}

export const openClerk = (realm: Realm): Clerk => ({
  contacts: openContacts(realm),
  accounts: openAccounts(realm),
  projects: openRegister(),
  feedbacks: new Map(),
  feedbackEpochs: new Map(),
  themes: new Map(),
  ratings: new Map(),
  conversations: new Map(),
  superseded: new Set(),
})

export const applySubmission = (clerk: Clerk, submission: Submission): void => {
  const claims: Claims = new Map()
  const state = applyOperation(clerk, submission, claims)
  for (const claim of claims.values()) claim()
  if (state === 'superseded') clerk.superseded.add(submission.submissionId)
}

const applyOperation = (clerk: Clerk, submission: Submission, claims: Claims): 'applied' | 'superseded' => {
  const moment = { number: submission.number, originalNumber: submission.originalNumber }
  switch (submission.operation) {
    case 'create_feedback':
      return createFeedback(clerk, submission)
    case 'identify_contact':
      identifyWithAccount(clerk, { record: submission.body, defaultSource: DEFAULT_SOURCE, moment, claims })
      return 'applied'
    case 'identify_account':
      identifyAccount(clerk.accounts, { record: submission.body, source: DEFAULT_SOURCE, moment, claims })
      return 'applied'
    case 'submit_conversation':
      return submitConversation(clerk, submission, (record) =>
        identifyWithAccount(clerk, { record, defaultSource: submission.body.source, moment, claims }),
      )
    case 'purge_contact':
      purge(clerk, submission.body)
      return 'applied'
    case 'correct_feedback':
      return correctFeedback(clerk, submission)
    case 'delete_feedback':
      deleteFeedback(clerk, submission.body.id)
      return 'applied'
    case 'create_theme':
      return createTheme(clerk, submission)
    case 'edit_theme':
      return editTheme(clerk, submission)
  }
}

type Identified = { record: ContactRecord; defaultSource: string; moment: Moment; claims: Claims }

/**
 * Identifies a contact and the account in its record. A record without an account keeps the
 * contact's account. A late record only sets a missing account.
 */
const identifyWithAccount = ({ contacts, accounts }: Clerk, identified: Identified): Profile => {
  const { record, defaultSource, moment, claims } = identified
  const { profile: contact, isLate } = identifyContact(contacts, identified)
  if (record.account == null) return contact
  const source = record.source ?? defaultSource
  const account = identifyAccount(accounts, { record: record.account, source, moment, claims })
  if (isLate && contact.account !== null) return contact
  contact.account = account
  touch(contact, moment)
  return contact
}

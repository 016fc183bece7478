import type { ContactRecord } from '../../contract/contact-record.ts'
import type { SubmissionJob } from '../../contract/job.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import { DEFAULT_SOURCE } from '../../contract/stored-feedback.ts'
import { identifyAccount, openAccounts, type Accounts } from './accounts.ts'
import { identifyContact, openContacts, type Contacts } from './contacts.ts'
import { submitConversation, type Conversation } from './conversations.ts'
import { createFeedback, type Feedback } from './feedbacks.ts'
import type { Profile } from './profile.ts'
import { purge } from './purge.ts'
import { type Claims, openRegister, type Register } from './register.ts'

/** One careful clerk, who keeps the files of one workspace and takes in one submission after the other. */
export type Clerk = {
  readonly contacts: Contacts
  readonly accounts: Accounts
  readonly projects: Register
  /** By own id, as are the conversations. */
  readonly feedbacks: Map<string, Feedback>
  readonly conversations: Map<string, Conversation>
}

export const openClerk = (realm: Realm): Clerk => ({
  contacts: openContacts(realm),
  accounts: openAccounts(realm),
  projects: openRegister(),
  feedbacks: new Map(),
  conversations: new Map(),
})

export const takeIn = (clerk: Clerk, job: SubmissionJob): void => {
  const { number } = job
  const claims: Claims = new Map()
  switch (job.operation) {
    case 'create_feedback':
      createFeedback(clerk, job)
      break
    case 'identify_contact':
      identifyWithAccount(clerk, { record: job.body, defaultSource: DEFAULT_SOURCE, number, claims })
      break
    case 'identify_account':
      identifyAccount(clerk.accounts, { record: job.body, source: DEFAULT_SOURCE, number, claims })
      break
    case 'submit_conversation':
      submitConversation(clerk, job, (record) =>
        identifyWithAccount(clerk, { record, defaultSource: job.body.source, number, claims }),
      )
      break
    case 'purge_contact':
      purge(clerk, job)
      break
  }
  for (const claim of claims.values()) claim()
}

type Identified = { record: ContactRecord; defaultSource: string; number: number; claims: Claims }

/** A contact record without an account leaves the contact's account as it is. */
const identifyWithAccount = ({ contacts, accounts }: Clerk, identified: Identified): Profile => {
  const { record, defaultSource, number, claims } = identified
  const contact = identifyContact(contacts, identified)
  if (record.account != null) {
    const source = record.source ?? defaultSource
    contact.account = identifyAccount(accounts, { record: record.account, source, number, claims })
  }
  return contact
}

import { feedbackId, type FeedbackRecord, feedbackSource } from '../../contract/feedback-record.ts'
import type { SubmissionOf } from '../../contract/submission.ts'
import { canonicalName, ownId } from '../../contract/identity/keys.ts'
import { findOrCreateAccount, type Accounts } from './accounts.ts'
import { findContact, findOrCreateContact, type Contacts } from './contacts.ts'
import { fill } from './profile.ts'
import { findOrOpen, follow, type Link, type Register } from './register.ts'

export type Feedback = {
  /** The last submitted form. */
  readonly record: FeedbackRecord
  readonly contact: Link
  readonly account: Link
  readonly project: Link
  readonly firstNumber: number
  readonly lastNumber: number
}

type Files = { contacts: Contacts; accounts: Accounts; projects: Register; feedbacks: Map<string, Feedback> }

/**
 * The later submission of a record replaces it as a whole; the contacts and accounts of earlier
 * ones stay.
 */
export const createFeedback = (files: Files, submission: SubmissionOf<'create_feedback'>): 'applied' | 'superseded' => {
  const { submissionId, body, number, originalNumber } = submission
  const id = feedbackId({ ...files.contacts.realm, submissionId }, body)
  const former = files.feedbacks.get(id)
  if (former && originalNumber !== undefined && former.lastNumber > originalNumber) return 'superseded'
  files.feedbacks.set(id, {
    record: body,
    contact: linkContact(files, submission, id),
    account: linkAccount(files, submission),
    project: linkProject(files, submission),
    firstNumber: former?.firstNumber ?? number,
    lastNumber: number,
  })
  return 'applied'
}

/**
 * The answer to a replayed submission may be older than all applied ones, so no claim counts as
 * seen.
 */
const linkContact = (
  { contacts }: Files,
  { body, number, originalNumber, seenPosition }: SubmissionOf<'create_feedback'>,
  id: string,
): Link =>
  follow(contacts, {
    ids: [body.contactId, body.contact?.id],
    external: body.isExternalContactId,
    findByExternalId: (externalId) => findContact(contacts, externalId, feedbackSource(body)),
    findOrCreate: () =>
      findOrCreateContact(contacts, {
        contact: body.contact,
        feedbackId: id,
        number,
        seenPosition: originalNumber === undefined ? seenPosition : undefined,
      }),
  })

const linkAccount = ({ accounts }: Files, { body, number }: SubmissionOf<'create_feedback'>): Link =>
  follow(accounts, {
    ids: [body.accountId, body.account?.id],
    external: body.isExternalAccountId,
    findByExternalId: (externalId) => accounts.byExternalId.get(externalId)?.profile,
    findOrCreate: () => findOrCreateAccount(accounts, body.account, number),
  })

/** Projects have no external ids. */
const linkProject = (files: Files, { body, number }: SubmissionOf<'create_feedback'>): Link =>
  follow(files.projects, {
    ids: [body.projectId, body.project?.id],
    external: false,
    findByExternalId: () => undefined,
    findOrCreate: () => findOrCreateProject(files, body.project?.name ?? '', number),
  })

const findOrCreateProject = ({ contacts, projects }: Files, given: string, number: number) => {
  const name = canonicalName(given)
  if (name === undefined) return undefined
  const project = findOrOpen(projects, ownId(contacts.realm, 'project', name), number)
  fill(project, { columns: { name: given }, properties: {} }, number)
  return project
}

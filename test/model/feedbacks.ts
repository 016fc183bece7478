import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import type { JobOf } from '../../contract/job.ts'
import { comparableName, ownId } from '../../contract/identity/own-id.ts'
import { feedbackId, feedbackSource } from '../../contract/stored-feedback.ts'
import { findOrCreateAccount, type Accounts } from './accounts.ts'
import { findContact, findOrCreateContact, type Contacts } from './contacts.ts'
import { fill } from './profile.ts'
import { findOrOpen, follow, type Link, type Register } from './register.ts'

export type Feedback = {
  /** As last submitted. */
  readonly record: FeedbackRecord
  readonly contact: Link
  readonly account: Link
  readonly project: Link
  readonly firstNumber: number
  readonly lastNumber: number
}

type Files = { contacts: Contacts; accounts: Accounts; projects: Register; feedbacks: Map<string, Feedback> }

/** The later submission of a record replaces it as a whole; whom the earlier ones have created stays. */
export const createFeedback = (files: Files, job: JobOf<'create_feedback'>): void => {
  const id = feedbackId({ ...files.contacts.realm, submissionId: job.submissionId }, job.body)
  files.feedbacks.set(id, {
    record: job.body,
    contact: linkContact(files, job, id),
    account: linkAccount(files, job),
    project: linkProject(files, job),
    firstNumber: files.feedbacks.get(id)?.firstNumber ?? job.number,
    lastNumber: job.number,
  })
}

const linkContact = ({ contacts }: Files, { body, number }: JobOf<'create_feedback'>, id: string): Link =>
  follow(contacts, {
    ids: [body.contactId, body.contact?.id],
    external: body.isExternalContactId,
    findByExternalId: (externalId) => findContact(contacts, externalId, feedbackSource(body)),
    findOrCreate: () => findOrCreateContact(contacts, { contact: body.contact, feedbackId: id, number }),
  })

const linkAccount = ({ accounts }: Files, { body, number }: JobOf<'create_feedback'>): Link =>
  follow(accounts, {
    ids: [body.accountId, body.account?.id],
    external: body.isExternalAccountId,
    findByExternalId: (externalId) => accounts.byExternalId.get(externalId)?.profile,
    findOrCreate: () => findOrCreateAccount(accounts, body.account, number),
  })

/** Projects have no external ids. */
const linkProject = (files: Files, { body, number }: JobOf<'create_feedback'>): Link =>
  follow(files.projects, {
    ids: [body.projectId, body.project?.id],
    external: false,
    findByExternalId: () => undefined,
    findOrCreate: () => findOrCreateProject(files, body.project?.name ?? '', number),
  })

const findOrCreateProject = ({ contacts, projects }: Files, given: string, number: number) => {
  const name = comparableName(given)
  if (name === undefined) return undefined
  const project = findOrOpen(projects, ownId(contacts.realm, 'project', name), number)
  fill(project, { columns: { name }, properties: {} }, number)
  return project
}

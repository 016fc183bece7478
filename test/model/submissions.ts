import * as v from 'valibot'
import { JOB_VERSION, submissionJob, type SubmissionJob } from '../../contract/job.ts'
import { hashKeyFrom, type KeyKind, ownId } from '../../contract/identity/own-id.ts'
import { applyAll } from './model.ts'
import type { Tables } from './tables.ts'

export const hashKey = hashKeyFrom('5a'.repeat(32))
export const workspaceId = 'a3c54be2-54c5-4f0c-8d55-5e9b9b1f0c11'

/** The own id of a key in the workspace of these tests. */
export const idOf = (kind: KeyKind, ...parts: string[]): string => ownId({ hashKey, workspaceId }, kind, ...parts)

export const X = idOf('contact_external', 'API', 'x')
export const Y = idOf('contact_external', 'API', 'y')
export const ANN = idOf('contact_email', 'ann@example.org')

/** An operation and its body, as tests of the model write them; what the body leaves out does not matter to the test. */
export type Submission = [SubmissionJob['operation'], body: object]

export const feedback = (body: object): Submission => ['create_feedback', { description: 'slow', ...body }]
export const contact = (body: object): Submission => ['identify_contact', body]
export const account = (body: object): Submission => ['identify_account', body]
export const conversation = (body: object): Submission => [
  'submit_conversation',
  { id: 'C', source: 'chat', createdAt: '2026-03-01T10:00:00Z', contacts: [], messages: [], ...body },
]
export const message = (id: string, body: object = {}) => ({
  id,
  incoming: true,
  content: 'hello',
  createdAt: '2026-03-01T10:00:00Z',
  ...body,
})

export const byEmail = (email: string, more: object = {}): Submission => feedback({ contact: { email, ...more } })
export const byExternalId = (contactId: string, more: object = {}): Submission =>
  feedback({ isExternalContactId: true, contactId, ...more })
export const claiming = (id: string, $email: string | null): Submission => contact({ id, properties: { $email } })

/** The tables after these submissions, which were accepted in this order with the numbers from 1. */
export const after = (...submissions: Submission[]): Tables => applyAll(hashKey, jobs(submissions))

export const jobs = (submissions: readonly Submission[], workspace = workspaceId): SubmissionJob[] =>
  submissions.map(([operation, body], index) =>
    v.parse(submissionJob, {
      version: JOB_VERSION,
      workspaceId: workspace,
      submissionId: submissionId(index + 1),
      number: index + 1,
      operation,
      body,
    }),
  )

export const submissionId = (number: number): string => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`

/** Whom the feedback with this acceptance number belongs to. */
export const contactIdOf = (tables: Tables, number: number) =>
  tables.feedback.find(({ id }) => id === submissionId(number))?.contact_id
export const accountIdOf = (tables: Tables, number: number) =>
  tables.feedback.find(({ id }) => id === submissionId(number))?.account_id

export const contactOf = (tables: Tables, id: string) => tables.contact.find((row) => row.id === id)
export const accountOf = (tables: Tables, id: string) => tables.account.find((row) => row.id === id)

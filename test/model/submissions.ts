import { isRemoval, type Submission } from '../../contract/submission.ts'
import { hashKeyFrom, type OwnIdKind, ownId } from '../../contract/identity/keys.ts'
import { applyAll } from './model.ts'
import { parsed } from './submission-arbitrary.ts'
import { assertRows, foldAll } from '../fold/folded.ts'
import type { Tables } from './tables.ts'

export const hashKey = hashKeyFrom('5a'.repeat(32))
export const workspaceId = 'a3c54be2-54c5-4f0c-8d55-5e9b9b1f0c11'

/** The own id of a key in the workspace of these tests. */
export const idOf = (kind: OwnIdKind, ...parts: string[]): string => ownId({ hashKey, workspaceId }, kind, ...parts)

export const X = idOf('contact_external', 'API', 'x')
export const Y = idOf('contact_external', 'API', 'y')
export const ANN = idOf('contact_email', 'ann@example.org')

/** An operation and its body. `more`: such as the original number of a replay. */
export type Step = [operation: Submission['operation'], body: object, more?: Partial<Submission>]

export const feedback = (body: object): Step => ['create_feedback', { description: 'slow', ...body }]
export const contact = (body: object): Step => ['identify_contact', body]
export const account = (body: object): Step => ['identify_account', body]
export const conversation = (body: object): Step => [
  'submit_conversation',
  { id: 'C', source: 'chat', createdAt: '2026-03-01T10:00:00Z', contacts: [], messages: [], ...body },
]
export const purging = (body: object): Step => ['purge_contact', body]
export const correcting = (id: string, members: object): Step => ['correct_feedback', { id, ...members }]
export const deleting = (id: string): Step => ['delete_feedback', { id }]
export const message = (id: string, body: object = {}) => ({
  id,
  incoming: true,
  content: 'hello',
  createdAt: '2026-03-01T10:00:00Z',
  ...body,
})

/** The step as a replay of the submission with this number. */
export const replayed = ([operation, body]: Step, originalNumber: number): Step => [operation, body, { originalNumber }]

export const byEmail = (email: string, more: object = {}): Step => feedback({ contact: { email, ...more } })
export const byExternalId = (contactId: string, more: object = {}): Step =>
  feedback({ isExternalContactId: true, contactId, ...more })
export const claiming = (id: string, $email: string): Step => contact({ id, properties: { $email } })

/**
 * The tables of the model after these submissions, numbered from 1. Without removals and corrections, the fold must
 * give the same rows.
 */
export const after = (...steps: Step[]): Tables => {
  const history = accepted(steps)
  const tables = applyAll(hashKey, history)
  if (history.every((submission) => !isRemoval(submission) && submission.operation !== 'correct_feedback')) {
    assertRows(foldAll(hashKey, workspaceId, history), tables)
  }
  return tables
}

export const accepted = (steps: readonly Step[]): Submission[] =>
  steps.map(([operation, body, more], index) => {
    const number = index + 1
    return parsed({ workspaceId, submissionId: submissionId(number), number, operation, body, ...more })
  })

export const submissionId = (number: number): string => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`

const feedbackOf = (tables: Tables, number: number) => tables.feedback.find(({ id }) => id === submissionId(number))

/** The contacts, or the accounts, of the feedback with these acceptance numbers. */
export const contactIdsOf = (tables: Tables, ...numbers: number[]) =>
  numbers.map((number) => feedbackOf(tables, number)?.contact_id)
export const accountIdsOf = (tables: Tables, ...numbers: number[]) =>
  numbers.map((number) => feedbackOf(tables, number)?.account_id)

export const contactOf = (tables: Tables, id: string) => tables.contact.find((row) => row.id === id)
export const accountOf = (tables: Tables, id: string) => tables.account.find((row) => row.id === id)

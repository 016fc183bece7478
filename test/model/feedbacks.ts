import { type FeedbackRecord, feedbackSource } from '../../contract/feedback-record.ts'
import type { SubmissionOf } from '../../contract/submission.ts'
import { idOfEpoch, ownId, type Realm } from '../../contract/identity/keys.ts'
import { findOrCreateAccount, type Accounts } from './accounts.ts'
import { findContact, findOrCreateContact, type Contacts } from './contacts.ts'
import { nameKey } from './plain-keys.ts'
import { fill, type Moment } from './profile.ts'
import { findOrOpen, follow, type Link, type Register } from './register.ts'

export type Feedback = {
  /** The last submitted body. */
  readonly record: FeedbackRecord
  readonly contact: Link
  readonly account: Link
  readonly project: Link
  readonly firstNumber: number
  readonly lastNumber: number
  /** The number at acceptance of the last submission. */
  readonly newestNumber: number
  /** What people have set, by member, and the number at acceptance of the newest correction of a member. */
  readonly corrections: Readonly<Record<string, unknown>>
  readonly correctionNumbers: Readonly<Record<string, number>>
}

type State = {
  contacts: Contacts
  accounts: Accounts
  projects: Register
  feedbacks: Map<string, Feedback>
  /** How often the feedback of a key was deleted. */
  feedbackEpochs: Map<string, number>
  themes: ReadonlyMap<string, object>
  /** All ratings that each source has sent. */
  ratings: Map<string, number[]>
}

/** Replaces a stored feedback as a whole. Its former contact and account stay. */
export const createFeedback = (state: State, submission: SubmissionOf<'create_feedback'>): 'applied' | 'superseded' => {
  const { submissionId, body, number, originalNumber } = submission
  const key = feedbackKeyOf(state.contacts.realm, submissionId, body)
  const id = idOfEpoch(key, state.feedbackEpochs.get(key) ?? 0)
  const former = state.feedbacks.get(id)
  if (former && originalNumber !== undefined && former.newestNumber > originalNumber) return 'superseded'
  if (body.rating != null) {
    const source = feedbackSource(body)
    state.ratings.set(source, [...(state.ratings.get(source) ?? []), body.rating])
  }
  state.feedbacks.set(id, {
    record: body,
    contact: linkContact(state, submission, id),
    account: linkAccount(state, submission),
    project: linkProject(state, submission),
    firstNumber: former?.firstNumber ?? number,
    lastNumber: number,
    newestNumber: originalNumber ?? number,
    corrections: former?.corrections ?? {},
    correctionNumbers: former?.correctionNumbers ?? {},
  })
  return 'applied'
}

/** `ownKey`: the key of a feedback without an id in its source. */
export const feedbackKeyOf = (realm: Realm, ownKey: string, record: FeedbackRecord): string =>
  record.sourceId == null ? ownKey : ownId(realm, 'feedback', feedbackSource(record), record.sourceId)

/** Lays the members over those of the source. Null, and a feedback that is not hidden, leave nothing. */
export const correctFeedback = (
  { feedbacks, themes }: Pick<State, 'feedbacks' | 'themes'>,
  { body: { id, ...given }, number, originalNumber }: SubmissionOf<'correct_feedback'>,
): 'applied' | 'superseded' => {
  const feedback = feedbacks.get(id)
  const fresh = Object.entries(given).filter(
    ([member]) => originalNumber === undefined || (feedback?.correctionNumbers[member] ?? 0) <= originalNumber,
  )
  if (!feedback || fresh.length === 0 || (given.themeId != null && !themes.has(given.themeId))) return 'superseded'
  const { corrections, correctionNumbers } = feedback
  const set = fresh.map(([member, value]) => [member, Array.isArray(value) ? trimmedTags(value) : value])
  feedbacks.set(id, {
    ...feedback,
    corrections: Object.fromEntries(
      Object.entries({ ...corrections, ...Object.fromEntries(set) }).filter(
        ([, value]) => value !== null && value !== false,
      ),
    ),
    correctionNumbers: {
      ...correctionNumbers,
      ...Object.fromEntries(fresh.map(([member]) => [member, originalNumber ?? number])),
    },
  })
  return 'applied'
}

export const trimmedTags = (tags: readonly string[]): string[] => [
  ...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== '')),
]

/** The answer to a replay may be older than all claims, so it counts as if it has seen none. */
const linkContact = (
  { contacts }: State,
  { body, number, originalNumber, seenPosition }: SubmissionOf<'create_feedback'>,
  id: string,
): Link =>
  follow(contacts, {
    ids: [body.contactId, body.contact?.id],
    isExternal: body.isExternalContactId,
    findByExternalId: (externalId) => findContact(contacts, externalId, feedbackSource(body)),
    findOrCreate: () =>
      findOrCreateContact(contacts, {
        contact: body.contact,
        feedbackId: id,
        moment: { number, originalNumber },
        seenPosition: originalNumber === undefined ? seenPosition : undefined,
      }),
  })

const linkAccount = ({ accounts }: State, { body, number, originalNumber }: SubmissionOf<'create_feedback'>): Link =>
  follow(accounts, {
    ids: [body.accountId, body.account?.id],
    isExternal: body.isExternalAccountId,
    findByExternalId: (externalId) => accounts.byExternalId.get(externalId)?.profile,
    findOrCreate: () => findOrCreateAccount(accounts, body.account, { number, originalNumber }),
  })

/** Projects have no external ids. */
const linkProject = (state: State, { body, number, originalNumber }: SubmissionOf<'create_feedback'>): Link =>
  follow(state.projects, {
    ids: [body.projectId, body.project?.id],
    isExternal: false,
    findByExternalId: () => undefined,
    findOrCreate: () => findOrCreateProject(state, body.project?.name ?? '', { number, originalNumber }),
  })

const findOrCreateProject = ({ contacts, projects }: State, given: string, moment: Moment) => {
  const name = nameKey(given)
  if (name === undefined) return undefined
  const project = findOrOpen(projects, ownId(contacts.realm, 'project', name), moment)
  fill(project, { columns: { name: given }, properties: {} }, moment)
  return project
}

import { type FeedbackRecord, feedbackSource, feedbackSourceData } from '../../contract/feedback-record.ts'
import type { Submission } from '../../contract/submission.ts'
import type { HashKey } from '../../contract/identity/keys.ts'
import { applySubmission, type Clerk, openClerk } from './clerk.ts'
import { unflattenedProperties } from './conversations.ts'
import { current, describe, text, type Profile } from './profile.ts'
import { findByOwnId } from './register.ts'
import { inOrder, instant, type Tables } from './tables.ts'

/**
 * The expected rows after these submissions, applied one after the other in the order of
 * acceptance.
 */
export const applyAll = (hashKey: HashKey, submissions: readonly Submission[]): Tables =>
  tablesOf([...clerksAfter(hashKey, submissions).values()])

/** The state of each workspace after these submissions. */
export const clerksAfter = (hashKey: HashKey, submissions: readonly Submission[]): Map<string, Clerk> => {
  const clerks = new Map<string, Clerk>()
  for (const submission of submissions.toSorted((one, other) => one.number - other.number)) {
    const { workspaceId } = submission
    const clerk = clerks.get(workspaceId) ?? openClerk({ hashKey, workspaceId })
    clerks.set(workspaceId, clerk)
    applySubmission(clerk, submission)
  }
  return clerks
}

/**
 * The current contact or account of an own id. Undefined for an id that was never given, or was
 * purged.
 */
export const resolveOwnId = (clerk: Clerk, kind: 'contacts' | 'accounts', id: string): string | undefined =>
  idOf(findByOwnId(clerk[kind], id) ?? null) ?? undefined

const tablesOf = (clerks: readonly Clerk[]): Tables => {
  const rowsOf = <R extends object>(rows: (clerk: Clerk) => R[]) =>
    inOrder(
      clerks.flatMap((clerk) => rows(clerk).map((row) => ({ workspace_id: clerk.contacts.realm.workspaceId, ...row }))),
    )
  return {
    contact: rowsOf(contactRows),
    contact_external_id: rowsOf(contactExternalIdRows),
    account: rowsOf(accountRows),
    account_external_id: rowsOf(accountExternalIdRows),
    project: rowsOf(projectRows),
    feedback: rowsOf(feedbackRows),
    feedback_category: rowsOf(feedbackCategoryRows),
    conversation: rowsOf(conversationRows),
    conversation_contact: rowsOf(conversationContactRows),
    message: rowsOf(messageRows),
  }
}

const idOf = (profile: Profile | null): string | null => (profile ? current(profile).id : null)

const present = (profiles: Iterable<Profile>): Profile[] =>
  [...new Set(profiles)].filter(({ absorbedBy }) => !absorbedBy)

const contactRows = ({ contacts }: Clerk) =>
  present(contacts.profiles.values()).map((contact) => ({
    id: contact.id,
    email: text(contact, 'email'),
    account_id: idOf(contact.account),
    ...describe(contact),
  }))

const contactExternalIdRows = ({ contacts }: Clerk) =>
  [...contacts.byExternalId].flatMap(([externalId, sources]) =>
    [...sources].map(([source, contact]) => ({ source, external_id: externalId, contact_id: contact.id })),
  )

const accountRows = ({ accounts }: Clerk) =>
  present(accounts.profiles.values()).map((account) => ({
    id: account.id,
    domain: text(account, 'domain'),
    ...describe(account),
  }))

const accountExternalIdRows = ({ accounts }: Clerk) =>
  [...accounts.byExternalId].map(([externalId, { source, profile }]) => ({
    source,
    external_id: externalId,
    account_id: profile.id,
  }))

const projectRows = ({ projects }: Clerk) =>
  [...projects.profiles.values()].map((project) => ({ id: project.id, name: text(project, 'name')! }))

const feedbackRows = ({ feedbacks }: Clerk) =>
  [...feedbacks].map(([id, { record, contact, account, project, firstNumber, lastNumber }]) => ({
    id,
    description: record.description,
    title: record.title ?? null,
    is_transcript: record.isTranscript ?? null,
    tags: explicitTags(record),
    tags_generated: record.tags == null,
    rating: record.rating ?? null,
    source: feedbackSource(record),
    source_id: record.sourceId ?? null,
    source_data: feedbackSourceData(record),
    contact_id: idOf(contact.profile),
    account_id: idOf(account.profile),
    project_id: idOf(project.profile),
    created_at: instant(record.createdAt ?? new Date(firstNumber / 1_000).toISOString()),
    accepted_number: firstNumber,
    updated_number: lastNumber,
  }))

const explicitTags = (record: FeedbackRecord): string[] | null =>
  record.tags == null ? null : [...new Set(record.tags.map((tag) => tag.trim()).filter((tag) => tag !== ''))]

const feedbackCategoryRows = ({ feedbacks }: Clerk) =>
  [...new Set([...feedbacks.values()].flatMap(({ record }) => explicitTags(record) ?? []))].map((title) => ({ title }))

const conversationRows = ({ conversations }: Clerk) =>
  [...conversations.values()].map(({ id, record }) => ({
    id,
    external_id: record.id,
    source: record.source,
    title: record.title ?? null,
    rating: record.rating ?? null,
    properties: unflattenedProperties(record),
    created_at: instant(record.createdAt),
    updated_at: record.updatedAt == null ? null : instant(record.updatedAt),
  }))

const conversationContactRows = ({ conversations }: Clerk) =>
  [...conversations.values()].flatMap(({ id, contacts }) =>
    [...contacts].map((contact) => ({ conversation_id: id, contact_id: contact.id })),
  )

const messageRows = ({ conversations }: Clerk) =>
  [...conversations.values()].flatMap(({ id: conversationId, messages }) =>
    [...messages.values()].map(({ id, record, rawData, contact }) => ({
      id,
      conversation_id: conversationId,
      external_id: record.id,
      incoming: record.incoming,
      contact_id: idOf(contact.profile),
      content: record.content,
      source_url: record.sourceUrl ?? null,
      raw_data: rawData,
      created_at: instant(record.createdAt),
    })),
  )

import { feedbackSource, feedbackSourceData } from '../../contract/feedback-record.ts'
import type { Clerk } from './clerk.ts'
import { type Feedback, trimmedTags } from './feedbacks.ts'
import { themeRows } from './themes.ts'
import { unflattenedProperties } from './conversations.ts'
import { current, type Profile, timeOf } from './profile.ts'

/**
 * The tables for users, of all workspaces. Date-times have the form of `Date.toISOString`.
 * Acceptance numbers stand for the times of acceptance in the database. Generated tags are left
 * out.
 */
export type Tables = ReturnType<typeof tablesOf>

export const tablesOf = (clerks: readonly Clerk[]) => {
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
    theme: rowsOf(themeRows),
    feedback_category: rowsOf(feedbackCategoryRows),
    conversation: rowsOf(conversationRows),
    conversation_contact: rowsOf(conversationContactRows),
    message: rowsOf(messageRows),
    source: rowsOf(sourceRows),
  }
}

/** Sorts rows by their JSON, which is the order of `applyAll`. */
export const inOrder = <R extends object>(rows: readonly R[]): R[] =>
  rows
    .map((row): [string, R] => [JSON.stringify(row), row])
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, row]) => row)

/** The instant of a date-time of RFC 3339, to the millisecond. */
export const instant = (dateTime: string): string => new Date(timeOf(dateTime)).toISOString()

const instantOrNull = (dateTime: string | null | undefined): string | null =>
  dateTime == null ? null : instant(dateTime)

const idOf = (profile: Profile | null): string | null => (profile ? current(profile).id : null)

const text = (profile: Profile, column: string): string | null => (profile.columns.get(column) ?? null) as string | null

const present = (profiles: Iterable<Profile>): Profile[] =>
  [...new Set(profiles)].filter(({ absorbedBy }) => !absorbedBy)

/** The columns of both contacts and accounts. */
const described = (profile: Profile) => ({
  name: text(profile, 'name'),
  contract_value: (profile.columns.get('contract_value') ?? null) as number | null,
  source_created_at: instantOrNull(text(profile, 'source_created_at')),
  source_updated_at: instantOrNull(text(profile, 'source_updated_at')),
  // Defines each member, also `__proto__`.
  properties: Object.fromEntries(profile.properties),
  created_number: profile.firstNumber,
  listed_number: profile.listedNumber,
  updated_number: profile.number,
})

const sourceRows = ({ ratings }: Clerk) =>
  [...ratings].map(([source, given]) => ({
    source,
    ratings: given.length,
    least_rating: given.reduce((least, rating) => Math.min(least, rating)),
    most_rating: given.reduce((most, rating) => Math.max(most, rating)),
  }))

const contactRows = ({ contacts }: Clerk) =>
  present(contacts.profiles.values()).map((contact) => ({
    id: contact.id,
    email: text(contact, 'email'),
    account_id: idOf(contact.account),
    ...described(contact),
  }))

const contactExternalIdRows = ({ contacts }: Clerk) =>
  [...contacts.byExternalId].flatMap(([externalId, sources]) =>
    [...sources].map(([source, contact]) => ({ source, external_id: externalId, contact_id: contact.id })),
  )

const accountRows = ({ accounts }: Clerk) =>
  present(accounts.profiles.values()).map((account) => ({
    id: account.id,
    domain: text(account, 'domain'),
    ...described(account),
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
  [...feedbacks].map(([id, feedback]) => ({
    id,
    ...ofRecord(feedback),
    ...ofCorrections(feedback),
  }))

const ofRecord = ({ record, contact, account, project, firstNumber, lastNumber }: Feedback) => ({
  description: record.description,
  title: record.title ?? null,
  is_transcript: record.isTranscript ?? null,
  source: feedbackSource(record),
  source_id: record.sourceId ?? null,
  source_data: feedbackSourceData(record),
  contact_id: idOf(contact.profile),
  account_id: idOf(account.profile),
  project_id: idOf(project.profile),
  created_at: instant(record.createdAt ?? new Date(firstNumber / 1_000).toISOString()),
  accepted_number: firstNumber,
  updated_number: lastNumber,
})

/** `tags` is null if they are generated. */
const ofCorrections = (feedback: Feedback) => {
  const { record, corrections, correctionNumbers } = feedback
  const isCorrected = Object.keys(corrections).length > 0
  return {
    tags: shownTags(feedback),
    tags_generated: shownTags(feedback) === null,
    rating: (corrections['rating'] ?? record.rating ?? null) as number | null,
    is_hidden: corrections['isHidden'] === true,
    kind: (corrections['kind'] ?? null) as string | null,
    theme_id: (corrections['themeId'] ?? null) as string | null,
    theme_by: corrections['themeId'] === undefined ? null : 'person',
    corrections: isCorrected ? corrections : null,
    uncorrected: isCorrected
      ? {
          tags: record.tags == null ? null : trimmedTags(record.tags),
          rating: record.rating ?? null,
          kind: null,
          themeId: null,
          themeBy: null,
        }
      : null,
    correction_numbers: Object.keys(correctionNumbers).length > 0 ? correctionNumbers : null,
  }
}

const shownTags = ({ record, corrections }: Feedback): string[] | null =>
  (corrections['tags'] as string[] | undefined) ?? (record.tags == null ? null : trimmedTags(record.tags))

const feedbackCategoryRows = ({ feedbacks }: Clerk) =>
  [...new Set([...feedbacks.values()].flatMap((feedback) => shownTags(feedback) ?? []))].map((title) => ({ title }))

const conversationRows = ({ conversations }: Clerk) =>
  [...conversations.values()].map(({ id, record }) => ({
    id,
    external_id: record.id,
    source: record.source,
    title: record.title ?? null,
    rating: record.rating ?? null,
    properties: unflattenedProperties(record),
    created_at: instant(record.createdAt),
    updated_at: instantOrNull(record.updatedAt),
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

import * as v from 'valibot'
import {
  about,
  amount,
  dateTime,
  externalId,
  flag,
  freeObject,
  sourceOrNull,
  identifier,
  list,
  NO_PLACEHOLDER,
  object,
  shortText,
  text,
  textOfAtMost,
  unflattenFlag,
} from './fields.ts'
import type { FreeMember, Violation } from './free-members.ts'
import { ownId, type Realm } from './identity/keys.ts'
import { isPlaceholder } from './identity/placeholders.ts'
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { MAX_METADATA_MEMBER_BYTES, MAX_TAG_CHARACTERS, MAX_TAGS } from './limits.ts'
import { unflattenIf } from './unflatten.ts'

/** Source data of a reference becomes metadata of the contact or account. */
const SOURCE_DATA_OF_REFERENCE: readonly FreeMember[] = [
  { name: 'sourceData', maxMemberBytes: MAX_METADATA_MEMBER_BYTES },
]

const AS_KEY = 'Compared in canonical form; a blank or a placeholder counts as absent.'

export const contactReference = object(
  {
    id: about(v.optional(identifier), 'Id of an existing contact, read as `isExternalContactId` says.'),
    name: about(v.optional(text), 'Name of the contact. It does not replace a stored name.'),
    email: about(v.optional(shortText), `Its key. A text that is no address is stored, and is no key. ${AS_KEY}`),
    sourceData: about(v.nullish(freeObject), 'Further facts about the contact, stored as its metadata.'),
  },
  {
    description: 'A contact, by `id` or by `email`. An `id` that resolves wins. An unknown email creates a contact.',
    free: SOURCE_DATA_OF_REFERENCE,
    named: ['id', 'email', 'name'],
  },
)

export const accountReference = object(
  {
    id: about(v.optional(identifier), 'Id of an existing account, read as `isExternalAccountId` says.'),
    name: about(v.optional(shortText), `Name of the account, or another text unique in your system. ${AS_KEY}`),
    domain: about(v.optional(shortText), `Its domain, or another text unique in your system. ${AS_KEY}`),
    contractValue: about(v.nullish(amount), 'What the contract with the account is worth.'),
    sourceData: about(v.nullish(freeObject), 'Further facts about the account, stored as its metadata.'),
  },
  {
    description:
      'An account, by `id`, `domain` or `name`. An unknown domain or name creates an account. An `id` that resolves wins. ' +
      'Where domain and name belong to different accounts, the domain decides.',
    free: SOURCE_DATA_OF_REFERENCE,
    named: ['id', 'domain', 'name'],
  },
)

export const projectReference = object(
  {
    id: about(v.optional(identifier), 'The id that this service gave the project.'),
    name: about(v.optional(shortText), `Name of the project, unique in the workspace. ${AS_KEY}`),
  },
  { description: 'A project, by `id` or by `name`. An unknown name creates a project.', named: ['id', 'name'] },
)

/** Placeholders that are sent as external ids. Own ids are not checked here. */
const placeholders = (record: JsonObject): Violation[] => [
  ...(record['isExternalContactId'] === true ? placeholdersOf(record, 'contact') : []),
  ...(record['isExternalAccountId'] === true ? placeholdersOf(record, 'account') : []),
]

const placeholdersOf = (record: JsonObject, kind: 'contact' | 'account'): Violation[] => {
  const reference = record[kind]
  return [
    ...(isPlaceholderId(record[`${kind}Id`]) ? [{ path: [`${kind}Id`], expected: NO_PLACEHOLDER }] : []),
    ...(isJsonObject(reference) && isPlaceholderId(reference['id'])
      ? [{ path: [kind, 'id'], expected: NO_PLACEHOLDER }]
      : []),
  ]
}

/** An empty id is reported by the check of the member itself. */
const isPlaceholderId = (value: JsonValue | undefined): boolean =>
  typeof value === 'string' && value !== '' && isPlaceholder(value)

const externalIdFlag = (kind: 'contact' | 'account') =>
  about(
    v.optional(flag, false),
    `How \`${kind}Id\` and \`${kind}.id\` are read: true means the id that your system gave the ${kind}. ` +
      'False or absent means the id that this service gave it.',
  )

/** Body of create-feedback. */
export const feedbackRecord = object(
  {
    description: about(text, 'The words of the customer: plain text or simple HTML. May be empty.'),
    title: about(v.nullish(text), 'A heading for the feedback.'),
    isTranscript: about(v.nullish(flag), 'Whether the text is the transcript of something spoken.'),
    tags: about(
      v.nullish(list(textOfAtMost(MAX_TAG_CHARACTERS), MAX_TAGS, 'tags')),
      'Your own tags, stored as written, but trimmed, and without blank ones and duplicates. An empty array means no tags. ' +
        'If absent or null, the service generates tags from title and description a little later.',
    ),
    isExternalContactId: externalIdFlag('contact'),
    contact: about(v.nullish(contactReference), 'The contact who gave it. Used when `contactId` is absent or unknown.'),
    contactId: about(
      v.nullish(identifier),
      'The contact who gave the feedback, by id. An own id that no contact has is dropped. An unknown external id is ' +
        'remembered if `contact` names no contact: the feedback is linked once a contact with this id is identified. A placeholder is ' +
        'refused as an external id.',
    ),
    isExternalAccountId: externalIdFlag('account'),
    account: about(v.nullish(accountReference), 'The account. Used when `accountId` is absent or unknown.'),
    accountId: about(v.nullish(identifier), 'The account, by id. Unknown ids are treated like those in `contactId`.'),
    project: about(
      v.nullish(projectReference),
      'The project that it is about. Used when `projectId` is absent or unknown.',
    ),
    projectId: about(v.nullish(identifier), 'The project that it is about, by the id that this service gave it.'),
    source: about(v.nullish(sourceOrNull), 'The system that the feedback comes from. If absent, null or blank, `API`.'),
    sourceId: about(
      v.nullish(externalId),
      'The id of the record in its source, such as the key of a ticket. The same source and `sourceId` again replace the ' +
        'record, which keeps its own id. Without `sourceId` every submission creates a record. A placeholder is refused.',
    ),
    shouldUnflattenSourceData: unflattenFlag('sourceData'),
    sourceData: about(v.nullish(freeObject), 'Any further data, such as the address of the original.'),
    rating: about(v.nullish(amount), 'A score that came with it, commonly a whole number. Fractions are accepted.'),
    createdAt: about(
      v.nullish(dateTime),
      'When the customer gave it: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. If absent or null, the time at ' +
        'which the feedback was accepted.',
    ),
  },
  {
    description: 'One piece of customer feedback and, if known, its contact, account and project.',
    free: [{ name: 'sourceData', flag: 'shouldUnflattenSourceData' }],
    check: placeholders,
  },
)
export type FeedbackRecord = v.InferOutput<typeof feedbackRecord>

/** The default source of contacts, accounts, feedback and conversations. */
export const DEFAULT_SOURCE = 'API'

/** The stored source of a feedback. */
export const feedbackSource = (record: FeedbackRecord): string => record.source ?? DEFAULT_SOURCE

/** The stored source data of a feedback; null if there is none. */
export const feedbackSourceData = (record: FeedbackRecord): JsonObject | null => {
  if (record.sourceData == null) return null
  return unflattenIf(record.shouldUnflattenSourceData, record.sourceData)
}

/**
 * Tags that people gave: trimmed, without blanks and duplicates. Undefined if the tagger is to
 * generate them.
 */
export const givenTags = (tags: readonly string[] | null | undefined): string[] | undefined =>
  tags == null ? undefined : [...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== ''))]

/**
 * The key of a feedback: an own id of epoch 0. Submissions with the same source and `sourceId` share
 * one. Undefined without a `sourceId`.
 */
export const feedbackKey = (realm: Realm, record: FeedbackRecord): string | undefined =>
  record.sourceId == null ? undefined : ownId(realm, 'feedback', feedbackSource(record), record.sourceId)

/**
 * The id of a feedback until it is deleted: its key, or else the id of its submission. After that, the
 * key has another epoch.
 */
export const feedbackId = (
  { submissionId, ...realm }: Realm & { submissionId: string },
  record: FeedbackRecord,
): string => feedbackKey(realm, record) ?? submissionId

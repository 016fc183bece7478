import * as v from 'valibot'
import {
  amount,
  dateTime,
  flag,
  freeObject,
  givenSource,
  identifier,
  list,
  NO_PLACEHOLDER,
  object,
  shortText,
  text,
  textOfAtMost,
} from './fields.ts'
import type { Excess, FreeMember } from './free-members.ts'
import { isPlaceholder } from './identity/canonical.ts'
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { MAX_METADATA_MEMBER_BYTES, MAX_TAG_CHARACTERS, MAX_TAGS } from './limits.ts'

/** Source data of a reference becomes metadata of the contact or account. */
const SOURCE_DATA_OF_REFERENCE: readonly FreeMember[] = [
  { name: 'sourceData', maxMemberBytes: MAX_METADATA_MEMBER_BYTES },
]

const contactReference = object(
  {
    id: v.optional(identifier),
    name: v.optional(text),
    email: v.optional(shortText),
    sourceData: v.nullish(freeObject),
  },
  SOURCE_DATA_OF_REFERENCE,
  { named: ['id', 'email', 'name'] },
)

const accountReference = object(
  {
    id: v.optional(identifier),
    name: v.optional(shortText),
    domain: v.optional(shortText),
    contractValue: v.nullish(amount),
    sourceData: v.nullish(freeObject),
  },
  SOURCE_DATA_OF_REFERENCE,
  { named: ['id', 'domain', 'name'] },
)

const projectReference = object(
  {
    id: v.optional(identifier),
    name: v.optional(shortText),
  },
  [],
  { named: ['id', 'name'] },
)

/** Placeholders that are sent as external ids. Own ids are not checked here. */
const placeholders = (record: JsonObject): Excess[] => [
  ...(record['isExternalContactId'] === true ? placeholdersOf(record, 'contact') : []),
  ...(record['isExternalAccountId'] === true ? placeholdersOf(record, 'account') : []),
]

const placeholdersOf = (record: JsonObject, kind: 'contact' | 'account'): Excess[] => {
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

/** Body of create-feedback. */
export const feedbackRecord = object(
  {
    description: text,
    title: v.nullish(text),
    isTranscript: v.nullish(flag),
    tags: v.nullish(list(textOfAtMost(MAX_TAG_CHARACTERS), MAX_TAGS, 'tags')),
    isExternalContactId: v.optional(flag, false),
    contact: v.nullish(contactReference),
    contactId: v.nullish(identifier),
    isExternalAccountId: v.optional(flag, false),
    account: v.nullish(accountReference),
    accountId: v.nullish(identifier),
    project: v.nullish(projectReference),
    projectId: v.nullish(identifier),
    source: v.nullish(givenSource),
    sourceId: v.nullish(identifier),
    shouldUnflattenSourceData: v.nullish(flag),
    sourceData: v.nullish(freeObject),
    rating: v.nullish(amount),
    createdAt: v.nullish(dateTime),
  },
  [{ name: 'sourceData', flag: 'shouldUnflattenSourceData' }],
  { check: placeholders },
)
export type FeedbackRecord = v.InferOutput<typeof feedbackRecord>

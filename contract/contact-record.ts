import * as v from 'valibot'
import {
  about,
  dateTime,
  externalId,
  sourceOrNull,
  object,
  openAmount,
  openObject,
  shortText,
  SOURCE_TIME,
  text,
  unflattenFlag,
} from './fields.ts'
import type { FreeMember } from './free-members.ts'
import { MAX_METADATA_MEMBER_BYTES } from './limits.ts'

const PROPERTIES: readonly FreeMember[] = [
  { name: 'properties', flag: 'shouldUnflattenProperties', maxMemberBytes: MAX_METADATA_MEMBER_BYTES },
]

const commonColumns = (kind: 'contact' | 'account') => ({
  $createdAt: about(v.nullish(dateTime), `When the ${kind} was created ${SOURCE_TIME}`),
  $updatedAt: about(
    v.nullish(dateTime),
    `When the ${kind} last changed ${SOURCE_TIME} If the stored time is newer, the record only fills members without a value.`,
  ),
  $contractValue: about(v.nullish(openAmount), `What the contract with the ${kind} is worth.`),
})

/** Body of identify-account, and `account` inside a contact record. */
export const accountRecord = object(
  {
    id: about(externalId, 'The id that your system gave the account. A placeholder is refused.'),
    shouldUnflattenProperties: unflattenFlag('properties'),
    properties: about(
      v.optional(
        openObject({
          $name: about(shortText, 'Name of the account.'),
          $domain: about(shortText, 'Domain of the account.'),
          ...commonColumns('account'),
        }),
      ),
      'Facts about the account. Its name and domain are required. Absent keys keep their value; keys other than ' +
        'those below are stored as metadata.',
    ),
  },
  { description: 'The facts about a company.', free: PROPERTIES },
)
export type AccountRecord = v.InferOutput<typeof accountRecord>

export const contactProperties = about(
  openObject({
    $email: about(
      v.nullish(shortText),
      'Email address. From then on the email means this contact, even if another contact had it. A contact known by the email ' +
        'alone becomes one with this contact; contacts with different ids are never merged. A placeholder and a text ' +
        'that is no address are stored, and mean no contact.',
    ),
    $name: about(v.nullish(text), 'Name to show.'),
    ...commonColumns('contact'),
  }),
  'Facts about a contact. The `$`-keys below have columns of their own, and null clears them. Every other key is stored as metadata.',
)

/** Body of identify-contact, and each element of `contacts` in a conversation. */
export const contactRecord = object(
  {
    id: about(externalId, 'The id that the source system gave the contact. A placeholder is refused.'),
    shouldUnflattenProperties: unflattenFlag('properties'),
    properties: about(v.nullish(contactProperties), 'Facts about the contact. Absent keys keep their value.'),
    account: about(v.nullish(accountRecord), 'Its account, identified along with it. Absent or null changes nothing.'),
    source: about(
      v.nullish(sourceOrNull),
      'Only contacts of this source system are searched and changed. If absent, null or blank, all sources are searched, and a ' +
        'new contact belongs to `API`, or in a conversation to the source of the conversation.',
    ),
  },
  { description: 'The facts about a person in one source system.', free: PROPERTIES },
)
export type ContactRecord = v.InferOutput<typeof contactRecord>

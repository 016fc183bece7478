import * as v from 'valibot'
import { dateTime, externalId, flag, givenSource, object, openAmount, openObject, shortText, text } from './fields.ts'
import type { FreeMember } from './free-members.ts'
import { MAX_METADATA_MEMBER_BYTES } from './limits.ts'

const PROPERTIES: readonly FreeMember[] = [
  { name: 'properties', flag: 'shouldUnflattenProperties', maxMemberBytes: MAX_METADATA_MEMBER_BYTES },
]

/** Body of identify-account, and `account` inside a contact record. */
export const accountRecord = object(
  {
    id: externalId,
    shouldUnflattenProperties: v.nullish(flag),
    properties: v.optional(
      openObject({
        $name: shortText,
        $domain: shortText,
        $createdAt: v.nullish(dateTime),
        $updatedAt: v.nullish(dateTime),
        $contractValue: v.nullish(openAmount),
      }),
    ),
  },
  PROPERTIES,
)
export type AccountRecord = v.InferOutput<typeof accountRecord>

/** Body of identify-contact, and each element of `contacts` in a conversation. */
export const contactRecord = object(
  {
    id: externalId,
    shouldUnflattenProperties: v.nullish(flag),
    properties: v.nullish(
      openObject({
        $email: v.nullish(shortText),
        $name: v.nullish(text),
        $createdAt: v.nullish(dateTime),
        $updatedAt: v.nullish(dateTime),
        $contractValue: v.nullish(openAmount),
      }),
    ),
    account: v.nullish(accountRecord),
    source: v.nullish(givenSource),
  },
  PROPERTIES,
)
export type ContactRecord = v.InferOutput<typeof contactRecord>

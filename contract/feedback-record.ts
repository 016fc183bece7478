import * as v from 'valibot'
import { flag, freeObject, identifier, number, object, shortText, text } from './fields.ts'

const contactReference = object({
  id: v.optional(identifier),
  name: v.optional(text),
  email: v.optional(shortText),
  sourceData: v.nullish(freeObject),
})

const accountReference = object({
  id: v.optional(identifier),
  name: v.optional(shortText),
  domain: v.optional(shortText),
  contractValue: v.nullish(number),
  sourceData: v.nullish(freeObject),
})

const projectReference = object({
  id: v.optional(identifier),
  name: v.optional(shortText),
})

/** Body of create-feedback. */
export const feedbackRecord = object({
  description: text,
  title: v.nullish(text),
  isTranscript: v.nullish(flag),
  tags: v.nullish(v.array(text, 'an array')),
  isExternalContactId: v.optional(flag, false),
  contact: v.nullish(contactReference),
  contactId: v.nullish(identifier),
  isExternalAccountId: v.optional(flag, false),
  account: v.nullish(accountReference),
  accountId: v.nullish(identifier),
  project: v.nullish(projectReference),
  projectId: v.nullish(identifier),
  source: v.nullish(shortText),
  sourceId: v.nullish(identifier),
  shouldUnflattenSourceData: v.nullish(flag),
  sourceData: v.nullish(freeObject),
  rating: v.nullish(number),
})
export type FeedbackRecord = v.InferOutput<typeof feedbackRecord>

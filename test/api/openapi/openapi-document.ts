import assert from 'node:assert/strict'
import { Ajv } from '@modelcontextprotocol/server/validators/ajv'
import type * as v from 'valibot'
import { identifyAccount } from '../../../api/operations/accounts.ts'
import { BASE_PATH } from '../../../api/app.ts'
import { identifyContact, purgeContact } from '../../../api/operations/contacts.ts'
import { submitConversation } from '../../../api/operations/conversations.ts'
import type { AnySubmissionKind } from '../../../api/submit/intake.ts'
import { createFeedback } from '../../../api/operations/feedbacks.ts'
import { openApiDocument } from '../../../api/openapi/openapi.ts'
import { isDateTime, isUnset } from '../../../contract/date-time.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { type OperationPath, SUCCESS } from '../../end-to-end/interface-table.ts'

export type Example = { value: JsonValue }
type Content = Record<string, { schema: JsonObject; examples?: Record<string, Example>; example?: JsonValue }>
type Answer = { description: string; headers: JsonObject; content: Content }
type OperationObject = {
  requestBody?: { content: Content }
  parameters?: JsonObject[]
  responses: Record<string, JsonObject>
}

/** The document as parsed JSON. */
export const document = JSON.parse(JSON.stringify(await openApiDocument(BASE_PATH))) as JsonObject & {
  paths: Record<string, Partial<Record<'get' | 'post' | 'put' | 'patch' | 'delete', OperationObject>>>
  components: Record<string, JsonObject>
}

/** The target of a reference. */
export const resolve = (ref: string): JsonValue => {
  assert.match(ref, /^#\//)
  const found = ref
    .slice(2)
    .split('/')
    .reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), document)
  assert.ok(found !== undefined, `${ref} has no target`)
  return found
}
export const resolved = (value: JsonObject): JsonObject =>
  typeof value['$ref'] === 'string' ? (resolve(value['$ref']) as JsonObject) : value

/** An unknown keyword is an error. The format `uuid` is not checked. */
const ajv = new Ajv({
  strictTypes: false,
  formats: { 'date-time': (text: string) => isDateTime(text) && !isUnset(text), uuid: true },
}).addVocabulary(['components', 'discriminator'])

/** Whether a value fits a schema of the document. References resolve in the document. */
export const fits = (schema: JsonValue, value: JsonValue): boolean => {
  assert.ok(isJsonObject(schema))
  const validate = validators.get(schema) ?? ajv.compile({ ...schema, components: document.components })
  validators.set(schema, validate)
  return validate(value)
}
const validators = new WeakMap<JsonObject, (value: JsonValue) => boolean>()

/** Every object in a value, with its path from the value (`#`). */
export const objectsIn = function* (value: JsonValue, path = '#'): Generator<[path: string, object: JsonObject]> {
  if (isJsonObject(value)) yield [path, value]
  if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, `${path}/${name}`)
  }
}

/** Every operation. `at`: its whole path; `path`: the same without the base path. */
export const operations = Object.entries(document.paths).flatMap(([at, { get, post, put, patch, delete: remove }]) => {
  const path = at.startsWith(BASE_PATH) ? at.slice(BASE_PATH.length) : at
  return [
    ...(get ? [{ path, at, method: 'GET', operation: get }] : []),
    ...(post ? [{ path, at, method: 'POST', operation: post }] : []),
    ...(put ? [{ path, at, method: 'PUT', operation: put }] : []),
    ...(patch ? [{ path, at, method: 'PATCH', operation: patch }] : []),
    ...(remove ? [{ path, at, method: 'DELETE', operation: remove }] : []),
  ]
})
export const answerOf = ({ responses }: OperationObject, status: number): Answer => {
  const found = responses[status]
  assert.ok(found, `${status} is not documented`)
  return resolved(found) as unknown as Answer
}

const KINDS: Readonly<Record<OperationPath, AnySubmissionKind>> = {
  '/feedbacks': createFeedback,
  '/contacts/identify': identifyContact,
  '/contacts/purge': purgeContact,
  '/accounts/identify': identifyAccount,
  '/conversations': submitConversation,
}
/** The five operations that are submissions, with the status with which each accepts. */
export const submissions = Object.entries(KINDS).map(([path, kind]) => {
  const operation = document.paths[`${BASE_PATH}${path}`]?.post
  assert.ok(operation, path)
  const schema: v.GenericSchema = kind.schema
  return { path, schema, status: SUCCESS[path as OperationPath], operation }
})

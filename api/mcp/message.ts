import * as v from 'valibot'
import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../contract/json.ts'
import { problemsOf } from './tool.ts'

/** Error codes of JSON-RPC. */
export const INVALID_REQUEST = -32_600
export const INVALID_PARAMS = -32_602

export type MessageProblem = { code: number; message: string }

/**
 * The message without its members that are null: many clients write null for what they leave out.
 * Null as an item of an array, or as the id of a request, stays.
 */
export const withoutNulls = (message: JsonObject): JsonObject => {
  const { id, ...rest } = message
  const isNotification = typeof rest['method'] === 'string' && rest['method'].startsWith('notifications/')
  return { ...withoutNullMembers(rest), ...(id !== undefined && !(id === null && isNotification) && { id }) }
}

const withoutNullMembers = (object: JsonObject): JsonObject => {
  const kept: JsonObject = {}
  for (const [name, value] of Object.entries(object)) {
    if (value !== null) setMember(kept, name, withoutNullsIn(value))
  }
  return kept
}

const withoutNullsIn = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(withoutNullsIn)
  return isJsonObject(value) ? withoutNullMembers(value) : value
}

/**
 * The params of the methods that have required ones. The SDK would refuse others in the words of
 * its schema library.
 */
const PARAMS: Readonly<Record<string, v.GenericSchema>> = {
  initialize: v.object({
    protocolVersion: v.string(),
    clientInfo: v.object({ name: v.string(), version: v.string() }),
  }),
  'tools/call': v.object({ name: v.string(), arguments: v.optional(v.custom<JsonObject>(isJsonObject, 'an object')) }),
  'prompts/get': v.object({ name: v.string(), arguments: v.optional(v.custom<JsonObject>(isJsonObject, 'an object')) }),
  'resources/read': v.object({ uri: v.string() }),
}

/** Why the message is no valid request, notification or response; undefined if it is one. */
export const problemOfMessage = (message: JsonObject): MessageProblem | undefined => {
  const { jsonrpc, id, method, params = {} } = message
  if (jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"')
  const isResponse = method === undefined && ('result' in message || 'error' in message)
  if (isResponse) return undefined
  if (typeof method !== 'string') return invalid('method must be the name of a method')
  if (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id)) {
    return invalid('id must be a string or a whole number')
  }
  if (!isJsonObject(params)) return { code: INVALID_PARAMS, message: 'params must be an object' }
  const schema = Object.hasOwn(PARAMS, method) ? PARAMS[method] : undefined
  const problems = schema ? problemsOf(v.safeParse(schema, params).issues) : []
  return problems.length === 0 ? undefined : { code: INVALID_PARAMS, message: `In params: ${problems.join('; ')}` }
}

const invalid = (message: string): MessageProblem => ({ code: INVALID_REQUEST, message })

/** The id that an error about a message repeats. */
export const idOf = ({ id = null }: JsonObject): JsonValue =>
  typeof id === 'string' || typeof id === 'number' ? id : null

export const errorResponse = (error: MessageProblem, init: ResponseInit, id: JsonValue = null): Response =>
  Response.json({ jsonrpc: '2.0', error, id }, init)

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { seeded } from '../../support/property-seed.ts'
import type { ConversationRecord, MessageRecord } from '../../../contract/conversation-record.ts'
import { rawDataOf } from '../../../worker/fold/messages.ts'

const propagate = (conversation: JsonObject, own: JsonObject): JsonObject =>
  rawDataOf(
    { properties: own } as MessageRecord,
    { propagatePropertiesToMessages: true } as ConversationRecord,
    conversation,
  )

describe('properties that a conversation propagates', () => {
  it('are left out unless the conversation asks for them', () => {
    const message = { properties: { b: 1 } as JsonObject } as MessageRecord
    assert.deepEqual(rawDataOf(message, {} as ConversationRecord, { a: 1 }), { b: 1 })
  })

  it('have every key of both, with the value of the message first, and do not change their inputs', () => {
    const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', '$name', '')
    const object = fc
      .array(fc.tuple(key, fc.constantFrom<JsonValue[]>(1, 2, null, {}, [])))
      .map((members): JsonObject => Object.fromEntries(members))
    fc.assert(
      fc.property(object, object, (conversation, message) => {
        const before = JSON.stringify([conversation, message])
        const result = new Map(Object.entries(propagate(conversation, message)))
        const expected = new Map([...Object.entries(conversation), ...Object.entries(message)])
        assert.deepEqual(result, expected)
        assert.equal(JSON.stringify([conversation, message]), before)
      }),
      seeded(),
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { ConversationRecord, MessageRecord } from '../../../contract/conversation-record.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { unflattenIf } from '../../../contract/unflatten.ts'
import { propagatedBytes } from '../../../api/operations/conversations.ts'
import { rawDataOf } from '../../../fold/messages.ts'
import { seeded } from '../../support/property-seed.ts'

describe('propagatedBytes', () => {
  it('is the size of the conversation, plus that of its properties for each message', () => {
    const properties = { plan: 'pro' }
    const none = conversation(properties, [])
    const three = conversation(properties, [{}, { a: 1 }, {}])
    assert.equal(propagatedBytes(none), bytes(none))
    assert.equal(propagatedBytes(three), bytes(three) + 3 * bytes(properties))
  })

  it('counts the properties of the conversation and of its messages after unflattening', () => {
    const unflattening = { shouldUnflattenProperties: true }
    const given = conversation({ 'c.d': 2 }, [{ 'a.b': 1 }, { 'a.b': 1 }], unflattening)
    const own = conversation({ c: { d: 2 } }, [{ a: { b: 1 } }, { a: { b: 1 } }], unflattening)
    assert.equal(propagatedBytes(given), bytes(own) + 2 * bytes({ c: { d: 2 } }))
  })

  it('is never less than the size after propagation', () => {
    const key = fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', '.', '$', '\u00e9') })
    const properties = fc.dictionary(key, fc.oneof(fc.string(), fc.integer()), { maxKeys: 4 })
    fc.assert(
      fc.property(properties, fc.array(properties, { maxLength: 5 }), fc.boolean(), (ofAll, ofMessages, flag) => {
        const given = conversation(ofAll, ofMessages, { shouldUnflattenProperties: flag })
        const bound = propagatedBytes(given)
        const made = propagated(given)
        assert.ok(bytes(made) <= bound)
      }),
      seeded(),
    )
  })
})

const conversation = (properties: JsonObject, ofMessages: JsonObject[], flags: object = {}): ConversationRecord => {
  const messages = ofMessages.map((own) => ({ properties: own, ...flags }) as MessageRecord)
  return { propagatePropertiesToMessages: true, properties, messages, ...flags } as ConversationRecord
}

const propagated = (given: ConversationRecord): object => {
  const properties = unflattenIf(given.shouldUnflattenProperties, given.properties)
  const messages = given.messages.map((message) => ({ ...message, properties: rawDataOf(message, given, properties) }))
  return { ...given, properties, messages }
}

const bytes = (value: object): number => new TextEncoder().encode(JSON.stringify(value)).byteLength

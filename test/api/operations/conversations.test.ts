import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { ConversationRecord, MessageRecord } from '../../../contract/conversation-record.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { propagatedSizeBytes } from '../../../api/operations/conversations.ts'
import { rawDataOf } from '../../../worker/fold/messages.ts'
import { seeded } from '../../support/property-seed.ts'

describe('propagatedSizeBytes', () => {
  it('is the conversation and its properties once per message', () => {
    assert.equal(propagatedSizeBytes({ conversationBytes: 1000, propertiesBytes: 30, messageCount: 20 }), 1600)
    assert.equal(propagatedSizeBytes({ conversationBytes: 1000, propertiesBytes: 30, messageCount: 0 }), 1000)
  })

  it('is never less than the size after propagation', () => {
    const properties = fc.dictionary(fc.string({ maxLength: 3 }), fc.oneof(fc.string(), fc.integer()), { maxKeys: 4 })
    fc.assert(
      fc.property(properties, fc.array(properties, { maxLength: 5 }), (conversationProperties, ofMessages) => {
        const conversation = (messages: JsonObject[]) => ({ properties: conversationProperties, messages })
        const made = conversation(ofMessages.map((own) => propagated(own, conversationProperties)))
        const bound = propagatedSizeBytes({
          conversationBytes: bytes(conversation(ofMessages)),
          propertiesBytes: bytes(conversationProperties),
          messageCount: ofMessages.length,
        })
        assert.ok(bytes(made) <= bound)
      }),
      seeded(),
    )
  })
})

const propagated = (properties: JsonObject, ofConversation: JsonObject): JsonObject => {
  const message = { properties } as MessageRecord
  return rawDataOf(message, { propagatePropertiesToMessages: true } as ConversationRecord, ofConversation)
}

const bytes = (value: object): number => {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}

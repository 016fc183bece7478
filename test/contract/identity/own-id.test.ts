import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hashKeyFrom, keyedHash } from '../../../contract/identity/keys.ts'
import { seeded } from '../../support/property-seed.ts'

const HASH_KEY_BYTES = 32

describe('a keyed hash', () => {
  it('is the HMAC-SHA-256 of the text, at every use of the key', () => {
    const bytes = fc.uint8Array({ minLength: HASH_KEY_BYTES, maxLength: HASH_KEY_BYTES })
    fc.assert(
      fc.property(bytes, fc.array(fc.string({ unit: 'binary', size: 'large' }), { maxLength: 3 }), (secret, texts) => {
        const hexadecimal = Buffer.from(secret).toString('hex')
        const key = hashKeyFrom(hexadecimal)
        for (const text of texts) {
          const expected = createHmac('sha256', secret).update(text).digest('hex')
          assert.equal(keyedHash(key, text, 'hex'), expected)
        }
      }),
      seeded(),
    )
  })
})

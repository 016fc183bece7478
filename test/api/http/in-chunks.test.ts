import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { chunksOfBytes, chunksOfTexts, inChunks } from '../../../api/http/in-chunks.ts'
import { seeded } from '../../support/property-seed.ts'

const MOST_CHUNK_BYTES = 64 * 1024 + 3

describe('an answer in chunks', () => {
  it('has the bytes of its text, also with large characters at the ends of its chunks', async () => {
    const parts = fc.array(
      fc.tuple(fc.constantFrom('a', 'é', '好', '😀', '\uD83D', '\uDE00'), fc.integer({ min: 1, max: 50_000 })),
      { minLength: 1, maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(parts, async (given) => {
        const text = given.map(([character, times]) => character.repeat(times)).join('')
        for (const texts of [[text], ['{', text, '}']]) {
          const response = new Response(inChunks(chunksOfTexts(texts), () => {}))
          assert.deepEqual(new Uint8Array(await response.arrayBuffer()), new TextEncoder().encode(texts.join('')))
        }
      }),
      seeded({ numRuns: 30 }),
    )
  })

  it('takes one chunk at a time, and ends once', async () => {
    for (const chunks of [chunksOfTexts(['好'.repeat(100_000)]), chunksOfBytes(new Uint8Array(300_000))]) {
      let ended = 0
      const reader = inChunks(chunks, () => ended++).getReader()
      for (let bytes = 0; bytes < 300_000;) {
        assert.equal(ended, 0)
        const { value } = await reader.read()
        assert.ok(value.byteLength <= MOST_CHUNK_BYTES)
        bytes += value.byteLength
      }
      assert.equal((await reader.read()).done, true)
      assert.equal(ended, 1)
    }
  })

  it('ends when its client is gone', async () => {
    let ended = 0
    await inChunks(chunksOfBytes(new Uint8Array(300_000)), () => ended++).cancel()
    assert.equal(ended, 1)
  })
})

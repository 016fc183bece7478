import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { dearRequests, priceOfAnswer } from '../support/dear-answers.ts'
import { seeded } from '../support/property-seed.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const REQUESTS = LONG ? 20_000 : 40

/** The most bytes that do not repeat the request, such as problems, or the list of tools. */
const MOST_FIXED_BYTES = 256 * 1024
/** An answer may repeat the request, and JSON may escape a character with six characters. */
const MOST_TIMES = 6

describe('the answer to a request', () => {
  it(`is bounded by a fixed size and the bytes of the request, in ${REQUESTS} random requests`, async () => {
    let dearest = { title: '', perByte: 0, bytes: 0 }
    await fc.assert(
      fc.asyncProperty(dearRequests, async (request) => {
        const { bytes, perByte } = await priceOfAnswer(request)
        if (perByte > dearest.perByte) dearest = { title: request.title, perByte, bytes }
        const most = MOST_FIXED_BYTES + MOST_TIMES * request.plainBytes
        assert.ok(bytes <= most, `${request.title}: ${bytes} bytes`)
      }),
      seeded({ numRuns: REQUESTS }),
    )
    console.log(`${dearest.title}: ${dearest.bytes} bytes, ${dearest.perByte.toFixed(0)} for a byte`)
  })
})

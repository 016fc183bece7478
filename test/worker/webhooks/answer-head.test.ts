import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { createHeadReader } from '../../../worker/webhooks/answer-head.ts'

const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'

/** The head that is read from these bytes, whole or one by one. */
const readAll = (text: string, size = text.length) => {
  const { read } = createHeadReader()
  for (let at = 0; at < text.length; at += size) {
    const head = read(Buffer.from(text.slice(at, at + size)))
    if (head !== undefined) return head
  }
  return undefined
}

describe('the head of an answer', () => {
  it('is read in pieces of any size, behind informational heads, and with lines that end without CR', () => {
    for (const size of [1, 7, 10_000]) {
      assert.deepEqual(readAll('HTTP/1.1 204 No Content\r\n\r\n', size), { status: 204, retryAfter: undefined })
      assert.deepEqual(readAll(`${HINTS}${HINTS}HTTP/1.0 503\r\nRETRY-AFTER:  7 \r\nX: 1\r\n\r\nbody`, size), {
        status: 503,
        retryAfter: '7',
      })
      assert.deepEqual(readAll('HTTP/1.1 200 OK\nA: b\n\n', size)?.status, 200)
    }
  })

  it('ends at a bound of bytes', () => {
    const tooLong = { code: 'HEAD_TOO_LONG' }
    assert.throws(() => readAll(HINTS.repeat(10_000)), tooLong)
    assert.throws(() => readAll(HINTS.repeat(10_000), 1_000), tooLong)
    assert.throws(() => readAll(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}`, 4_096), tooLong)
    assert.equal(readAll(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(100_000)}`)?.status, 200, 'a body has no bound')
  })

  it('is HTTP/1.1', () => {
    for (const text of ['SSH-2.0-x\r\n\r\n', '\r\n\r\n', 'HTTP/2 200\r\n\r\n', 'HTTP/1.1 20\r\n\r\n'])
      assert.throws(() => readAll(text), { code: 'NOT_HTTP' })
    assert.equal(readAll('HTTP/1.1 200 OK\r\n'), undefined)
  })
})

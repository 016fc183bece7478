import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mostBytesOf } from '../../../api/submit/read-body.ts'

const LIMIT_BYTES = 100_000

const mostWith = (headers: readonly [name: string, value: string][]): number =>
  mostBytesOf(new Request('http://localhost/', { method: 'POST', headers: [...headers] }), LIMIT_BYTES)

describe('the most bytes of a body', () => {
  it('are its length, where that is known', () => {
    assert.equal(mostWith([['content-length', '5']]), 5)
    assert.equal(mostWith([['content-length', '99999999']]), LIMIT_BYTES)
  })

  it('are the limit where it is not: in chunks, in gzip, without a length, and with one that came twice', () => {
    assert.equal(mostWith([]), LIMIT_BYTES)
    for (const headers of [
      [
        ['content-length', '5'],
        ['transfer-encoding', 'chunked'],
      ],
      [
        ['content-length', '5'],
        ['content-encoding', 'gzip'],
      ],
      [['content-length', '5, 5']],
      [['content-length', '5, 05']],
    ] as [string, string][][]) {
      assert.equal(mostWith(headers), LIMIT_BYTES, JSON.stringify(headers))
    }
  })
})

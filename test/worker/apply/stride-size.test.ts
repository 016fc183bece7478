import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createStrideSizes, FULL_STRIDE, STRIDE_MS } from '../../../worker/apply/stride-size.ts'

const stride = (bound: number, submissions: number, { ms, share = 1 }: { ms: number; share?: number }) => ({
  workspaceId: 'w',
  bound,
  submissions,
  ms,
  share,
})
const inTime = (bound: number, times: number): (number | undefined)[] => {
  const sizes = createStrideSizes()
  return Array.from({ length: times }, () => sizes.next(stride(bound, bound, { ms: STRIDE_MS })))
}

describe('the size of the next stride', () => {
  it('stays full as long as strides are in time', () => {
    assert.deepEqual(inTime(Infinity, 4), [undefined, undefined, undefined, undefined])
  })

  it('falls in proportion to the time of a slow stride', () => {
    const { next } = createStrideSizes()
    assert.equal(next(stride(Infinity, 400, { ms: 4 * STRIDE_MS })), 100)
    assert.equal(next(stride(100, 100, { ms: 2 * STRIDE_MS })), 50)
  })

  it('never falls to one, the size of a quarantine', () => {
    const { next } = createStrideSizes()
    assert.equal(next(stride(Infinity, 1, { ms: 100 * STRIDE_MS })), 2)
    assert.equal(next(stride(2, 2, { ms: 100 * STRIDE_MS })), undefined)
  })

  it('does not fall after a few slightly slow submissions', () => {
    const { next } = createStrideSizes()
    assert.equal(next(stride(Infinity, 2, { ms: 2 * STRIDE_MS })), undefined)
  })

  it('does not fall for a workspace with a small part of a slow stride', () => {
    const { next } = createStrideSizes()
    assert.equal(next(stride(Infinity, 10, { ms: 8 * STRIDE_MS, share: 0.1 })), undefined)
    assert.equal(next(stride(Infinity, 10, { ms: 8 * STRIDE_MS, share: 0.9 })), 2)
  })

  it('doubles after three strides in time, and is full in the end', () => {
    assert.deepEqual(inTime(4, 4), [undefined, undefined, 8, undefined])
    assert.deepEqual(inTime(FULL_STRIDE.submissions / 2, 3), [undefined, undefined, Infinity])
  })
})

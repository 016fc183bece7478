import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createInHand } from '../../../worker/apply/in-hand.ts'

describe('a workspace in hand', () => {
  it('belongs to one job at a time', () => {
    const { begin, ids } = createInHand()
    const first = begin(['a', 'b', 'a'])
    const second = begin(['b', 'c'])
    assert.deepEqual([first.ids(), second.ids()], [['a', 'b'], ['c']])
    assert.deepEqual(ids().toSorted(), ['a', 'b', 'c'])
    first.drop('a', 'b')
    assert.deepEqual(begin(['a']).ids(), ['a'])
  })

  it('is not given back if another job has named it since its log was read', () => {
    const { begin } = createInHand()
    const hand = begin(['a'])
    hand.unmark('a')
    begin(['a'])
    assert.equal(hand.giveBack('a'), false)
    hand.unmark('a')
    assert.equal(hand.giveBack('a'), true)
    assert.deepEqual(hand.ids(), [])
  })

  it('stays with the next job when the former job ends', () => {
    const { begin, ids } = createInHand()
    const former = begin(['a'])
    assert.equal(former.giveBack('a'), true)
    begin(['a'])
    former.drop('a')
    assert.deepEqual(ids(), ['a'])
  })
})

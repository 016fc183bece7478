import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { coalesce } from '../../runtime/coalesce.ts'
import { until } from '../support/until.ts'

/** A call that returns its items when the test answers it. `calls` has the items of each call. */
const held = () => {
  const calls: number[][] = []
  const answers: PromiseWithResolvers<void>[] = []
  const call = async (items: readonly number[]): Promise<number[]> => {
    calls.push([...items])
    const answer = Promise.withResolvers<void>()
    answers.push(answer)
    await answer.promise
    return [...items]
  }
  return { calls, answers, call }
}

describe('a coalesced item', () => {
  it('goes at once, together with items of the same tick', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 10 })
    const sent = Promise.all([send(1), send(2)])
    await tick()
    assert.deepEqual(calls, [[1, 2]])
    answers[0]!.resolve()
    assert.deepEqual(await sent, [1, 2])
  })

  it('that arrives during a call goes in the next call, in the order of arrival', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 10 })
    const sent = [send(1)]
    await tick()
    sent.push(send(2))
    await tick()
    sent.push(send(3))
    await tick()
    assert.deepEqual(calls, [[1]])
    answers[0]!.resolve()
    assert.equal(await sent[0], 1)
    await tick()
    assert.deepEqual(calls, [[1], [2, 3]])
    answers[1]!.resolve()
    assert.deepEqual(await Promise.all(sent), [1, 2, 3])
  })

  it('goes in a call with at most the allowed number of items', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 2 })
    const sent = Promise.all([1, 2, 3, 4, 5].map(send))
    for (let index = 0; index < 3; index++) {
      await tick()
      answers[index]!.resolve()
    }
    assert.deepEqual(await sent, [1, 2, 3, 4, 5])
    assert.deepEqual(calls, [[1, 2], [3, 4], [5]])
  })

  it('can go in a second call during the first; later items go once one of the calls is answered', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 10, concurrency: 2 })
    const sent = [send(1)]
    await tick()
    sent.push(send(2), send(3))
    await tick()
    assert.deepEqual(calls, [[1], [2, 3]])
    sent.push(send(4), send(5))
    await tick()
    assert.deepEqual(calls, [[1], [2, 3]])
    answers[1]!.resolve()
    assert.equal(await sent[2], 3)
    assert.deepEqual(calls, [[1], [2, 3], [4, 5]])
    for (const index of [0, 2]) answers[index]!.resolve()
    assert.deepEqual(await Promise.all(sent), [1, 2, 3, 4, 5])
  })

  it('waits for other items for a while after a call began, or until the next call is full', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 3, concurrency: 10, everyMs: 500 })
    const sent = [send(1)]
    await tick()
    assert.deepEqual(calls, [[1]])
    answers[0]!.resolve()
    await sent[0]
    sent.push(send(2))
    await tick()
    sent.push(send(3))
    await until('a second call begins', () => Promise.resolve(calls.length > 1))
    assert.deepEqual(calls, [[1], [2, 3]])
    sent.push(send(4), send(5))
    await tick()
    sent.push(send(6), send(7))
    await tick()
    assert.deepEqual(calls, [[1], [2, 3], [4, 5, 6]])
    await until('the rest is sent', () => Promise.resolve(calls.length > 3))
    for (const index of [1, 2, 3]) answers[index]!.resolve()
    assert.deepEqual(await Promise.all(sent), [1, 2, 3, 4, 5, 6, 7])
  })

  it('goes with other items up to the allowed weight, and alone if it weighs more', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 10, weight: { most: 5, weigh: (item) => item } })
    const sent = Promise.all([9, 2, 3, 1, 9].map(send))
    for (let index = 0; index < 4; index++) {
      await tick()
      answers[index]!.resolve()
    }
    assert.deepEqual(await sent, [9, 2, 3, 1, 9])
    assert.deepEqual(calls, [[9], [2, 3], [1], [9]])
  })

  it('fails with its call, as do the items that wait at that moment; later items do not fail', async () => {
    const { calls, answers, call } = held()
    const send = coalesce(call, { items: 10 })
    const fault = new Error('away')
    const outcomes = Promise.allSettled([send(1), tick().then(() => send(2))])
    await tick()
    await tick()
    answers[0]!.reject(fault)
    assert.deepEqual(await outcomes, [
      { status: 'rejected', reason: fault },
      { status: 'rejected', reason: fault },
    ])
    const later = send(3)
    await tick()
    answers[1]!.resolve()
    assert.equal(await later, 3)
    assert.deepEqual(calls, [[1], [3]])
  })
})

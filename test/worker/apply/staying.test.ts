import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createStaying } from '../../../worker/apply/staying.ts'
import { until } from '../../support/until.ts'

describe('a worker that stays with workspaces', () => {
  const setUp = () => {
    const taken: (readonly string[])[] = []
    const staying = createStaying(async (ids) => void taken.push(ids))
    return { taken, staying, last: (found: number) => ({ found, takenAt: performance.now() }) }
  }
  const untilTaken = (taken: readonly unknown[], count: number) =>
    until('the workspaces are taken', async () => taken.length >= count)

  it('takes those together whose pace ends together, once', async () => {
    const { taken, staying, last } = setUp()
    staying.stay('a', last(1))
    staying.stay('b', last(1))
    await untilTaken(taken, 1)
    assert.deepEqual(taken, [['a', 'b']])
    assert.deepEqual(await staying.stop(), [])
  })

  it('takes a busy workspace sooner', async () => {
    const { taken, staying, last } = setUp()
    staying.stay('quiet', last(1))
    staying.stay('busy', last(100))
    await untilTaken(taken, 2)
    assert.deepEqual(taken, [['busy'], ['quiet']])
  })

  it('does not take a workspace that it has left', async () => {
    const { taken, staying, last } = setUp()
    staying.stay('a', last(1))
    staying.stay('b', last(1))
    staying.leave(['a'])
    await untilTaken(taken, 1)
    assert.deepEqual(taken, [['b']])
  })

  it('names the workspaces to release when it stops, and takes none of them', async () => {
    const { taken, staying, last } = setUp()
    staying.stay('a', last(1))
    assert.deepEqual(await staying.stop(), ['a'])
    const other = setUp()
    other.staying.stay('later', other.last(1))
    await untilTaken(other.taken, 1)
    assert.deepEqual(taken, [])
  })
})

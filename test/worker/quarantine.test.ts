import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { createQuarantine } from '../../worker/quarantine.ts'

/** Work in a quarantine, which continues until the test ends it. `begun`: its names, in order. */
const watched = () => {
  const begun: string[] = []
  const quarantine = createQuarantine()
  const begin = (how: 'shared' | 'exclusive', name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const ended = quarantine[how](() => {
      begun.push(name)
      return promise
    })
    return {
      end: () => {
        resolve(name)
        return ended
      },
      fail: async () => {
        reject(new Error(name))
        await assert.rejects(ended, new Error(name))
      },
    }
  }
  return { begun, begin, isWanted: quarantine.isWanted }
}

describe('exclusive work', () => {
  it('begins when all shared work has ended', async () => {
    const { begun, begin, isWanted } = watched()
    const [one, two] = [begin('shared', 'one'), begin('shared', 'two')]
    assert.equal(isWanted(), false)
    const alone = begin('exclusive', 'alone')
    assert.equal(isWanted(), true)
    await one.end()
    await soon()
    assert.deepEqual(begun, ['one', 'two'])
    await two.end()
    await soon()
    assert.deepEqual(begun, ['one', 'two', 'alone'])
    assert.equal(await alone.end(), 'alone')
    await soon()
    assert.equal(isWanted(), false)
  })

  it('waits for the exclusive work before it, and shared work waits for both', async () => {
    const { begun, begin } = watched()
    const [first, second] = [begin('exclusive', 'first'), begin('exclusive', 'second')]
    const other = begin('shared', 'other')
    await soon()
    assert.deepEqual(begun, ['first'])
    await first.end()
    await soon()
    assert.deepEqual(begun, ['first', 'second'])
    await second.end()
    await soon()
    assert.deepEqual(begun, ['first', 'second', 'other'])
    assert.equal(await other.end(), 'other')
  })

  it('that fails does not hold up other work', async () => {
    const { begun, begin } = watched()
    const [first, second] = [begin('exclusive', 'first'), begin('exclusive', 'second')]
    await soon()
    await first.fail()
    await soon()
    assert.deepEqual(begun, ['first', 'second'])
    await second.end()
    assert.equal(await begin('shared', 'other').end(), 'other')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTokenUse } from '../../api/token-use.ts'
import { until } from '../support/until.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

describe('the use of tokens', () => {
  it('is written once a day and token, and not before the call returns', async () => {
    const writes: string[][] = []
    let now = 100 * DAY_MS
    const use = createTokenUse(
      async (hashes) => void writes.push([...hashes]),
      () => now,
      1,
    )
    for (let times = 0; times < 100; times++) use.note(['a', 'b'])
    assert.deepEqual(writes, [])
    await until('they are written', () => Promise.resolve(writes.length > 0))
    use.note(['b', 'c'])
    await until('the third is written', () => Promise.resolve(writes.length > 1))
    now += DAY_MS
    use.note(['a'])
    await until('the next day is written', () => Promise.resolve(writes.length > 2))
    assert.deepEqual(writes, [['a', 'b'], ['c'], ['a']])
  })

  it('is written again after a write that failed', async () => {
    let writes = 0
    const write = async (): Promise<void> => {
      writes++
      throw new Error('away')
    }
    const use = createTokenUse(write, Date.now, 1)
    await until('it is tried twice', () => {
      use.note(['a'])
      return Promise.resolve(writes >= 2)
    })
  })
})

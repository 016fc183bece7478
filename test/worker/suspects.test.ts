import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { companyOf } from '../../worker/suspects.ts'

/** What a company does with its turn, and works that go on until they are told to end. */
const watched = () => {
  const said: string[] = []
  const company = companyOf({ close: () => said.push('close'), open: () => said.push('open') })
  const begin = (how: 'among' | 'alone', name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const ended = company[how](() => {
      said.push(name)
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
  return { said, begin }
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a suspect', () => {
  it('is worked on when nothing else is, with the turn closed meanwhile', async () => {
    const { said, begin } = watched()
    const [one, two] = [begin('among', 'one'), begin('among', 'two')]
    const suspect = begin('alone', 'suspect')
    await soon()
    assert.deepEqual(said, ['one', 'two', 'close'], 'what waits in the turn is given back')
    await one.end()
    await soon()
    assert.deepEqual(said, ['one', 'two', 'close'])
    await two.end()
    await soon()
    assert.deepEqual(said, ['one', 'two', 'close', 'suspect'])
    assert.equal(await suspect.end(), 'suspect')
    assert.deepEqual(said.slice(-1), ['open'])
  })

  it('keeps others waiting that come meanwhile, until it is done', async () => {
    const { said, begin } = watched()
    const suspect = begin('alone', 'suspect')
    const others = [begin('among', 'one'), begin('among', 'two')]
    await soon()
    assert.deepEqual(said, ['close', 'suspect'])
    await suspect.end()
    await soon()
    assert.deepEqual(said, ['close', 'suspect', 'open', 'one', 'two'])
    for (const other of others) await other.end()
  })

  it('waits for the suspect before it, and others wait for both', async () => {
    const { said, begin } = watched()
    const [first, second] = [begin('alone', 'first'), begin('alone', 'second')]
    const other = begin('among', 'other')
    await soon()
    assert.deepEqual(said, ['close', 'first'])
    await first.end()
    await soon()
    assert.deepEqual(said, ['close', 'first', 'open', 'close', 'second'])
    await second.end()
    await soon()
    assert.deepEqual(said.slice(-2), ['open', 'other'])
    assert.equal(await other.end(), 'other')
  })

  it('that fails opens the turn again, and holds up nobody', async () => {
    const { said, begin } = watched()
    const [suspect, next] = [begin('alone', 'suspect'), begin('alone', 'next')]
    await soon()
    await suspect.fail()
    await soon()
    assert.deepEqual(said, ['close', 'suspect', 'open', 'close', 'next'])
    await next.end()
    assert.equal(await begin('among', 'other').end(), 'other')
  })

  it('is worked on after works that failed', async () => {
    const { said, begin } = watched()
    const one = begin('among', 'one')
    const suspect = begin('alone', 'suspect')
    await one.fail()
    await soon()
    assert.deepEqual(said, ['one', 'close', 'suspect'])
    await suspect.end()
  })
})

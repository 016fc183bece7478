import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WEBHOOKS_AT_ONCE } from '../../../db/webhooks.ts'
import { createPlaces } from '../../../worker/webhooks/places.ts'

it('a workspace has one large record in hand, whether the one before has failed or not', async () => {
  const { alone } = createPlaces()
  let [inHand, most] = [0, 0]
  const work = async (at: number): Promise<number> => {
    most = Math.max(most, ++inHand)
    await new Promise((resolve) => setTimeout(resolve, 1))
    inHand--
    if (at === 1) throw new Error('x')
    return at
  }
  const done = await Promise.allSettled([0, 1, 2, 3].map((at) => alone('w', () => work(at))))
  assert.deepEqual(
    done.map((end) => (end.status === 'fulfilled' ? end.value : 'failed')),
    [0, 'failed', 2, 3],
  )
  assert.equal(most, 1)
})

it('a workspace gets a few places for deliveries, and leaves the others', async () => {
  const { inPlace } = createPlaces()
  let [began, end] = [0, (): void => {}]
  const ended = new Promise<void>((resolve) => (end = resolve))
  const wait = async (): Promise<number> => {
    began++
    await ended
    return 1
  }
  const slow = Array.from({ length: 2 * WEBHOOKS_AT_ONCE }, () => inPlace('slow', wait))
  assert.equal(began, WEBHOOKS_AT_ONCE)
  assert.equal(await inPlace('other', async () => 2), 2)
  end()
  const done = await Promise.all(slow)
  assert.equal(done.filter((result) => result === 1).length, WEBHOOKS_AT_ONCE)
  assert.equal(await inPlace('slow', async () => 3), 3)
  await assert.rejects(inPlace('slow', () => Promise.reject(new Error('x'))))
  assert.equal(await inPlace('slow', async () => 4), 4)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WEBHOOKS_AT_ONCE } from '../../../db/webhooks.ts'
import { createPlaces } from '../../../worker/webhooks/places.ts'

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

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createBodiesInHand } from '../../../api/submit/bodies-in-hand.ts'

it('figures count bodies in hand by their bytes, and refused bodies by their number', async () => {
  const { whenBytesFit, takeAnswer, figures } = createBodiesInHand(8)
  const body = { workspaceId: 'a', bytes: 6 }
  const { promise: held, resolve: release } = Promise.withResolvers<string>()
  const first = whenBytesFit(body, () => held)
  const written = takeAnswer({ workspaceId: 'b', bytes: 5 })
  assert.deepEqual(figures(), { bytes: 11, mostBytes: 8, refused: 0 })
  // A workspace that would wait for more than a quarter of the bytes is refused at once.
  assert.equal(await whenBytesFit(body, async () => 'read'), undefined)
  assert.deepEqual(figures(), { bytes: 11, mostBytes: 8, refused: 1 })
  release('done')
  assert.equal(await first, 'done')
  written()
  assert.deepEqual(figures(), { bytes: 0, mostBytes: 8, refused: 1 })
})

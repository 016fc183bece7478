import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createBodiesInHand } from '../../../api/http/bodies-in-hand.ts'

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

it('large bodies go one after the other, but a body whose work hangs does not hold up the next', async () => {
  const { oneLargeAtATime } = createBodiesInHand(8)
  const begun: string[] = []
  const work = (name: string, ended: Promise<void>) => async () => {
    begun.push(name)
    await ended
    return name
  }
  const large = { workspaceId: 'a', bytes: 100_000 }
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: hanging, resolve: end } = Promise.withResolvers<void>()
  const first = oneLargeAtATime(large, work('first', held))
  const second = oneLargeAtATime({ ...large, workspaceId: 'b' }, work('second', hanging))
  const third = oneLargeAtATime(large, work('third', Promise.resolve()))
  const small = { ...large, bytes: 1_000 }
  assert.equal(await oneLargeAtATime(small, work('small', Promise.resolve())), 'small')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(begun, ['small', 'first'])
  release()
  assert.equal(await first, 'first')
  assert.equal(await third, 'third')
  assert.deepEqual(begun, ['small', 'first', 'second', 'third'])
  end()
  assert.equal(await second, 'second')
})

it('the failure of a large body is its own', async () => {
  const { oneLargeAtATime } = createBodiesInHand(8)
  const large = { workspaceId: 'a', bytes: 100_000 }
  const failed = oneLargeAtATime(large, async () => assert.fail('on purpose'))
  const next = oneLargeAtATime(large, async () => 'next')
  await assert.rejects(failed, /on purpose/)
  assert.equal(await next, 'next')
})

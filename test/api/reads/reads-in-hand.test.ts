import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createReadsInHand } from '../../../api/reads/reads-in-hand.ts'

const MB = 1024 * 1024
const LARGE = 16 * MB

it('a workspace with large unread answers leaves room for the reads of others', async () => {
  let now = 0
  const { whenBytesFit, takeAnswer } = createReadsInHand(() => now, 4 * LARGE)
  const read = (workspaceId: string) => whenBytesFit(workspaceId, async () => 'read', 0)
  const written: (() => void)[] = []
  while ((await read('a')) === 'read') {
    written.push(takeAnswer({ workspaceId: 'a', bytes: LARGE }))
    assert.ok(written.length <= 2, 'half of the bytes')
  }
  assert.equal(written.length, 2)
  assert.equal(await read('b'), 'read')
  written.pop()!()
  assert.equal(await read('a'), 'read')
  const last = takeAnswer({ workspaceId: 'a', bytes: LARGE })
  assert.equal(await read('a'), undefined)
  // After a minute without large answers, the next answer counts as an ordinary one.
  last()
  takeAnswer({ workspaceId: 'a', bytes: LARGE - MB })
  assert.equal(await read('a'), undefined)
  now = 60_000
  assert.equal(await read('a'), 'read')
})

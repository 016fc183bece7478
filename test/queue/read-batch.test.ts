import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { batchIdOf } from '../../queue/batch.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'

describe('a batch that is read', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  it('is alone as long as nothing else of its workspace is outstanding, and nothing once it is settled', async () => {
    const workspaceId = randomUUID()
    const admitOne = async () => batchIdOf(entered(await room.admit(asked({ workspaceId }))).submissionId)
    const isAlone = async (batchId: string) => (await room.books.read({ workspaceId, batchId }))?.isAlone
    const first = await admitOne()
    assert.equal(await isAlone(first), true)
    const second = await admitOne()
    assert.deepEqual([await isAlone(first), await isAlone(second)], [false, false])
    await room.settle(workspaceId, first)
    assert.deepEqual([await isAlone(first), await isAlone(second)], [undefined, true])
  })
})

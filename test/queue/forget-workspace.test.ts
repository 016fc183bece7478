import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { aliasesIn } from '../../queue/aliases.ts'
import { forgetLeftOf, forgetWorkspace } from '../../queue/forget-workspace.ts'
import { asked, entered, NOTHING_SAID, openQueueRoom } from '../support/queue-room.ts'

const SUBMISSIONS = 40

describe('forgetting a deleted workspace in Redis', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  const fill = async (workspaceId: string): Promise<string[]> => {
    const ids: string[] = []
    for (let made = 0; made < SUBMISSIONS; made++) {
      const idempotency = { key: `f${made}`.padEnd(22, '-'), body: 'body-hash' }
      const limit = { tokens: 1_000, windowMs: 60_000 }
      const sayings = { newIds: [{ id: randomUUID(), of: 'record' as const }], aboutKeys: [] }
      const admission = await room.admit(asked({ workspaceId, idempotency, limit, sayings }))
      ids.push(entered(admission).submissionId)
    }
    await aliasesIn(room.redis, room.prefix).keepAlias(workspaceId, randomUUID(), { group: 'x', email: null })
    return ids
  }

  it('leaves no key of it, and all of another', async () => {
    const [goes, stays] = [randomUUID(), randomUUID()]
    await fill(goes)
    await fill(stays)
    const [of, others] = [await room.keysOf(goes), await room.keysOf(stays)]
    assert.ok(of.length > SUBMISSIONS)
    assert.equal(await forgetWorkspace(room.redis, room.prefix, goes), of.length)
    assert.deepEqual(await room.keysOf(goes), [])
    assert.deepEqual(await room.keysOf(stays), others)
    assert.equal(await forgetWorkspace(room.redis, room.prefix, goes), 0)
  })

  it('no batch that somebody has in hand makes a key again', async () => {
    const workspaceId = randomUUID()
    const [settled, split, given] = await fill(workspaceId)
    const inHand = await room.readSettled(workspaceId, settled!)
    const { batch } = await room.readSettled(workspaceId, split!)
    const { batch: again } = await room.readSettled(workspaceId, given!)
    await forgetWorkspace(room.redis, room.prefix, workspaceId)
    await room.books.settle([inHand])
    await room.books.decide([{ ...inHand, sayings: [NOTHING_SAID] }])
    await room.books.split(batch)
    await room.handOver('submissions', {
      workspaceId,
      batchId: again.batchId,
      operations: ['create_feedback'],
      bytes: 0,
    })
    await room.books.noteAlone({ workspaceId, batchId: again.batchId })
    assert.equal(await room.books.read({ workspaceId, batchId: again.batchId }), undefined)
    await room.books.noteSurvived({ workspaceId, batchId: again.batchId })
    assert.deepEqual(await room.keysOf(workspaceId), [])
  })

  it('finds what came later, of any number of deleted workspaces', async () => {
    const [goes, alsoGoes, stays] = [randomUUID(), randomUUID(), randomUUID()]
    await fill(goes)
    await fill(stays)
    assert.ok((await forgetLeftOf(room.redis, room.prefix, [goes, alsoGoes])) > SUBMISSIONS)
    assert.equal(await forgetLeftOf(room.redis, room.prefix, [goes, alsoGoes]), 0)
    assert.deepEqual(await room.keysOf(goes), [])
    assert.ok((await room.keysOf(stays)).length > SUBMISSIONS)
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { forgetLateKeys, forgetWorkspace } from '../../../queue/log/forget-workspace.ts'
import { requestFor, openQueueRoom, takeSettings } from '../../support/queue-room.ts'

const SUBMISSIONS = 40

describe('forgetting a deleted workspace in Redis', () => {
  const room = openQueueRoom()
  after(() => room.close())

  const fill = async (workspaceId: string): Promise<void> => {
    const limit = { tokens: 1_000, windowMs: 60_000 }
    const requests = Array.from({ length: SUBMISSIONS }, (_, at) =>
      requestFor({ workspaceId, idempotency: { key: `f${at}`.padEnd(22, '-'), body: 'body-hash' }, limit }),
    )
    await Promise.all(requests.map(room.admit))
  }

  it('leaves no key of it, and all keys of another', async () => {
    const [goes, stays] = [randomUUID(), randomUUID()]
    await fill(goes)
    await fill(stays)
    const [own, others] = [await room.keysOf(goes), await room.keysOf(stays)]
    assert.deepEqual(own, ['bucket:create_feedback', 'idempotency', 'key-order', 'log', 'state'])
    assert.equal(await forgetWorkspace(room.redis, room.prefix, goes), own.length)
    assert.deepEqual(await room.keysOf(goes), [])
    assert.deepEqual(await room.keysOf(stays), others)
    assert.equal(await forgetWorkspace(room.redis, room.prefix, goes), 0)
  })

  it('leaves no key even if a worker still has a stride of its log', async () => {
    const workspaceId = randomUUID()
    await fill(workspaceId)
    const [taken] = await room.log.take([{ workspaceId }], takeSettings())
    assert.equal(taken?.outcome, 'taken')
    await forgetWorkspace(room.redis, room.prefix, workspaceId)
    await room.log.renew('a', [workspaceId], 1_000)
    const applied = taken.submissions.at(-1)!.number
    assert.deepEqual(await room.log.take([{ workspaceId, applied, bound: 2 }], takeSettings()), [{ outcome: 'idle' }])
    await room.log.release('a', [workspaceId])
    await room.log.noteSurvived(workspaceId)
    await room.log.trimThrough(workspaceId, applied)
    assert.deepEqual(await room.keysOf(workspaceId), [])
  })

  it('removes keys that were added later, for any number of deleted workspaces', async () => {
    const [goes, alsoGoes, stays] = [randomUUID(), randomUUID(), randomUUID()]
    await fill(goes)
    await fill(stays)
    assert.ok((await forgetLateKeys(room.redis, room.prefix, [goes, alsoGoes])) > 0)
    assert.equal(await forgetLateKeys(room.redis, room.prefix, [goes, alsoGoes]), 0)
    assert.deepEqual(await room.keysOf(goes), [])
    assert.ok((await room.keysOf(stays)).length > 0)
  })
})

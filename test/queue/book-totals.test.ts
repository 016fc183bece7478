import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { readBookTotals } from '../../queue/book-totals.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'

const WORKSPACES = 1_001

describe('book totals', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  it('are read of however many workspaces, each with its oldest submission', async () => {
    const workspaceIds = Array.from({ length: WORKSPACES }, () => randomUUID())
    const admit = async (workspaceId: string): Promise<number> =>
      entered(await room.admit(asked({ workspaceId }))).number
    const [first, last] = [workspaceIds[0]!, workspaceIds.at(-1)!]
    const [oldest, another, alone] = [await admit(first), await admit(first), await admit(last)]
    assert.ok(another > oldest)
    const nothing = { accepted: 0, queued: 0, oldestNumber: null as number | null }
    const expected = workspaceIds.map((workspaceId) => ({ workspaceId, ...nothing }))
    expected[0] = { workspaceId: first, accepted: 2, queued: 2, oldestNumber: oldest }
    expected[WORKSPACES - 1] = { workspaceId: last, accepted: 1, queued: 1, oldestNumber: alone }
    assert.deepEqual(await readBookTotals(room.redis, room.prefix, workspaceIds), expected)
  })
})

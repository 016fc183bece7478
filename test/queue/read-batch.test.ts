import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Operation } from '../../contract/job.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { batchIdOf } from '../../queue/batch.ts'
import type { HandedBatch } from '../../queue/hand-over.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'

describe('a batch that is read', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  /** Admits a submission, and returns its batch as it is handed over. */
  const handedOver = async (workspaceId: string, operation: Operation = 'create_feedback'): Promise<HandedBatch> => {
    const handed: HandedBatch[] = []
    const { redis, prefix } = room
    const handOver = async (_: unknown, batch: HandedBatch) => void handed.push(batch)
    const admit = admissionsIn({ redis, prefix, handOver, findStoredKey: async () => null })
    entered(await admit(asked({ workspaceId, operation })))
    return handed[0]!
  }

  it('is lone as long as nothing else of its workspace is outstanding, and nothing once it is settled', async () => {
    const workspaceId = randomUUID()
    const admitOne = async () => batchIdOf(entered(await room.admit(asked({ workspaceId }))).submissionId)
    const isLone = async (batchId: string) => (await room.books.read({ workspaceId, batchId }))?.isLone
    const first = await admitOne()
    assert.equal(await isLone(first), true)
    const second = await admitOne()
    assert.deepEqual([await isLone(first), await isLone(second)], [false, false])
    await room.settle(workspaceId, first)
    assert.deepEqual([await isLone(first), await isLone(second)], [undefined, true])
  })

  it('is lone when nothing of its workspace was outstanding as it was admitted, whatever has come since', async () => {
    const workspaceId = randomUUID()
    const first = await handedOver(workspaceId)
    const second = await handedOver(workspaceId)
    assert.deepEqual([first.follows, second.follows], ['nothing', 'no purge'])
    const [readFirst, readSecond] = await Promise.all([first, second].map(room.books.read))
    assert.deepEqual([readFirst?.isLone, readSecond?.isLone], [true, false])
    await room.settle(workspaceId, first.batchId)
    assert.equal(await room.books.read(first), undefined)
    assert.equal((await handedOver(workspaceId)).follows, 'no purge')
    assert.equal((await handedOver(randomUUID())).follows, 'nothing')
  })

  it('waits for a purge that was undecided as it was admitted, and for none that came later', async () => {
    const workspaceId = randomUUID()
    const early = await handedOver(workspaceId)
    const between = await handedOver(workspaceId)
    assert.equal((await handedOver(workspaceId, 'purge_contact')).follows, 'no purge')
    const behind = await handedOver(workspaceId)
    assert.equal(behind.follows, undefined)
    const read = await Promise.all([early, between, behind].map(room.books.read))
    assert.deepEqual(
      read.map((batch) => batch?.isAfterPurge),
      [false, false, true],
    )
  })

  it('comes with others of its turn, each for itself', async () => {
    const batches = await Promise.all(Array.from({ length: 250 }, () => handedOver(randomUUID())))
    const read = await Promise.all([...batches, { ...batches[0]!, batchId: randomUUID() }].map(room.books.read))
    assert.equal(read.pop(), undefined)
    assert.deepEqual(
      read.map((batch) => batch?.batchId),
      batches.map(({ batchId }) => batchId),
    )
  })
})

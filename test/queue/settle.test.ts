import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Sayings } from '../../contract/identity/sayings.ts'
import { IDEMPOTENCY_SECONDS } from '../../contract/limits.ts'
import { countQueued } from '../../queue/book-totals.ts'
import { admissionKeys } from '../../queue/keys.ts'
import type { Settled } from '../../queue/settle.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'

const SAYINGS: Sayings = {
  newIds: [{ id: randomUUID(), of: 'record' }],
  aboutKeys: [{ keyId: randomUUID(), sayings: [{ kind: 'given', unless: null }] }],
}
const KEPT = ['ledger', 'number']

describe('settling', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  const namesOf = (workspaceId: string) => admissionKeys(room.prefix, workspaceId)
  const accept = async (workspaceId: string, count: number): Promise<Settled> => {
    const request = asked({ workspaceId, sayings: SAYINGS })
    const admitted = (await Promise.all(Array.from({ length: count }, () => room.admit(request)))).map(entered)
    return room.readSettled(workspaceId, admitted[0]!.submissionId, SAYINGS)
  }
  const purge = async (workspaceId: string): Promise<Settled> => {
    const { submissionId } = entered(await room.admit(asked({ workspaceId, operation: 'purge_contact' })))
    return room.readSettled(workspaceId, submissionId)
  }

  it('of very many workspaces at once leaves what is not settled of each, and a purge that is being carried out', async () => {
    const workspaceIds = Array.from({ length: 120 }, () => randomUUID())
    const first = await Promise.all(workspaceIds.map((workspaceId) => accept(workspaceId, 2)))
    const second = await Promise.all(workspaceIds.map((workspaceId) => accept(workspaceId, 3)))
    const purges = await Promise.all(workspaceIds.slice(0, 40).map(purge))
    await room.books.decide(purges.slice(0, 20))
    await room.books.settle(first.slice(0, 60))
    const isWhole = (at: number): boolean => at % 3 === 0
    await room.books.settle([...second.filter((_, at) => isWhole(at)), ...first])
    for (const [at, workspaceId] of workspaceIds.entries()) {
      const purgesLeft = at < 40 ? 1 : 0
      const undecided = at < 20 ? 0 : purgesLeft
      const queued = await countQueued(room.redis, room.prefix, [workspaceId])
      assert.equal(queued, purgesLeft + (isWhole(at) ? 0 : 3), `workspace ${at}`)
      const { outstanding, facts } = namesOf(workspaceId)
      assert.equal(await room.redis.zcard(outstanding), undecided + (isWhole(at) ? 0 : 1))
      assert.equal(await room.redis.exists(facts), isWhole(at) ? 0 : 1)
    }
    await room.books.settle([...second, ...purges])
    for (const workspaceId of workspaceIds) assert.deepEqual(await room.keysOf(workspaceId), KEPT)
  })

  it('keeps idempotency keys for a day at least, counted from the last of their workspace, as admission does', async () => {
    const workspaceId = randomUUID()
    const { idempotency, settledKeys } = namesOf(workspaceId)
    const admit = (key: string) => room.admit(asked({ workspaceId, idempotency: { key, body: 'body-hash' } }))
    const first = entered(await admit('first'))
    const second = entered(await admit('second'))
    await room.settle(workspaceId, first.submissionId)
    for (const [book, again] of [
      [idempotency, () => admit('third')],
      [settledKeys, () => room.settle(workspaceId, second.submissionId)],
    ] as const) {
      assert.ok((await room.redis.ttl(book)) >= IDEMPOTENCY_SECONDS - 1, book)
      await room.redis.expire(book, IDEMPOTENCY_SECONDS - 1)
      await again()
      assert.ok((await room.redis.ttl(book)) >= IDEMPOTENCY_SECONDS, book)
    }
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Sayings } from '../../contract/identity/sayings.ts'
import { MAX_CONVERSATION_CONTACTS } from '../../contract/limits.ts'
import { JOB_VERSION, type SubmissionJob } from '../../contract/job.ts'
import { barrierIn, readyNow } from '../../queue/barrier.ts'
import { type Batched, batchIdOf } from '../../queue/batch.ts'
import { readBookTotals } from '../../queue/book-totals.ts'
import type { Settled } from '../../queue/settle.ts'
import { admissionKeys } from '../../queue/keys.ts'
import { queuedFactsIn } from '../../queue/queued-facts.ts'
import { findQueuedReceipt } from '../../queue/queued-receipt.ts'
import { asked, type Entered, entered, openQueueRoom } from '../support/queue-room.ts'

const SECRET = 'said in confidence'
const [EMAIL, RECORD] = [randomUUID(), randomUUID()]
const SAYINGS: Sayings = {
  newIds: [{ id: RECORD, of: 'record' }],
  aboutKeys: [{ keyId: EMAIL, sayings: [{ kind: 'given', unless: null }] }],
}
const KEPT = ['ledger', 'number']

describe('the books', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  const namesOf = (workspaceId: string) => admissionKeys(room.prefix, workspaceId)
  const bytesOfBatches = async (workspaceId: string): Promise<number> => {
    const name = namesOf(workspaceId)
    const outstanding = await room.redis.zrange(name.outstanding, '0', '-1')
    const bytes = await Promise.all(outstanding.map((batchId) => room.redis.strlen(name.batch(batchId))))
    return bytes.reduce((sum, one) => sum + one, 0)
  }

  const accept = async (workspaceId: string, count: number): Promise<{ admitted: Entered[]; settled: Settled }> => {
    const request = asked({ workspaceId, sayings: SAYINGS, bodyText: JSON.stringify({ description: SECRET }) })
    const admitted = (await Promise.all(Array.from({ length: count }, () => room.admit(request)))).map(entered)
    return { admitted, settled: await room.readSettled(workspaceId, admitted[0]!.submissionId, SAYINGS) }
  }
  const purge = async (workspaceId: string): Promise<{ number: number; settled: Settled }> => {
    const { number, submissionId } = entered(await room.admit(asked({ workspaceId, operation: 'purge_contact' })))
    return { number, settled: await room.readSettled(workspaceId, submissionId) }
  }
  const queuedOf = async (workspaceId: string): Promise<number> =>
    (await readBookTotals(room.redis, room.prefix, [workspaceId]))[0]!.queued
  const lookUp = async (workspaceId: string) => queuedFactsIn(room.redis, room.prefix)(workspaceId, [EMAIL, RECORD])
  /** All values of a workspace as text. */
  const dump = async (workspaceId: string): Promise<string> => {
    const base = `{${room.prefix}:${workspaceId}}:`
    const values = await Promise.all(
      (await room.keysOf(workspaceId)).map(async (key) => {
        const name = base + key
        switch (await room.redis.type(name)) {
          case 'hash':
            return [key, Object.entries(await room.redis.hgetall(name)).toSorted(([a], [b]) => a.localeCompare(b))]
          case 'zset':
            return [key, await room.redis.zrange(name, '0', '-1', 'WITHSCORES')]
          case 'list':
            return [key, await room.redis.lrange(name, 0, -1)]
          default:
            return [key, await room.redis.get(name)]
        }
      }),
    )
    return JSON.stringify(values)
  }

  describe('settled', () => {
    it('forget all that was submitted and said in one step, and count', async () => {
      const workspaceId = randomUUID()
      const { settled, admitted } = await accept(workspaceId, 25)
      const totals = { workspaceId, accepted: 25, queued: 25, oldestNumber: admitted[0]!.number }
      assert.deepEqual(await readBookTotals(room.redis, room.prefix, [workspaceId]), [totals])
      assert.ok((await dump(workspaceId)).includes(SECRET))
      await room.books.settle([settled])
      const afterwards = { ...totals, queued: 0, oldestNumber: null }
      assert.deepEqual(await readBookTotals(room.redis, room.prefix, [workspaceId]), [afterwards])
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })

    it('may be settled again, and none comes back or is counted twice', async () => {
      const workspaceId = randomUUID()
      const { settled } = await accept(workspaceId, 3)
      const { settled: other } = await accept(workspaceId, 2)
      await room.books.settle([settled])
      const left = await dump(workspaceId)
      await room.books.settle([settled])
      await room.books.settle([settled, settled])
      assert.equal(await dump(workspaceId), left)
      assert.equal(await queuedOf(workspaceId), 2)
      await room.books.settle([settled, other])
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })

    it('are those of several workspaces with one call, each on its own books, however many', async () => {
      const workspaceIds = [randomUUID(), randomUUID()]
      const all = await Promise.all(
        workspaceIds.flatMap((workspaceId) => Array.from({ length: 12 }, () => accept(workspaceId, 32))),
      )
      await room.books.settle(all.map(({ settled }) => settled))
      for (const workspaceId of workspaceIds) assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })

    it('may be as large as a conversation of ten thousand contacts and as many others who wrote', async () => {
      const workspaceId = randomUUID()
      const aboutKeys = Array.from({ length: 3 * MAX_CONVERSATION_CONTACTS }, () => ({
        keyId: randomUUID(),
        sayings: SAYINGS.aboutKeys[0]!.sayings,
      }))
      const newIds = Array.from({ length: MAX_CONVERSATION_CONTACTS }, () => ({ id: randomUUID(), of: 'group' }))
      const sayings = { newIds, aboutKeys }
      const request = asked({ workspaceId, operation: 'submit_conversation', sayings })
      const { submissionId } = entered(await room.admit(request))
      const settled = await room.readSettled(workspaceId, submissionId, sayings)
      await room.books.settle([settled])
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
      await room.books.put(settled.batch.submissions[0]!, sayings)
      assert.equal(await room.redis.hlen(namesOf(workspaceId).facts), aboutKeys.length)
      await room.settle(workspaceId, submissionId, sayings)
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })

    it('leave their idempotency keys', async () => {
      const workspaceId = randomUUID()
      const idempotency = { key: 'key', body: 'body-hash' }
      const first = entered(await room.admit(asked({ workspaceId, idempotency })))
      await room.settle(workspaceId, first.submissionId)
      assert.deepEqual(await room.keysOf(workspaceId), ['idempotency', 'ledger', 'number', 'settled-keys'])
      const again = entered(await room.admit(asked({ workspaceId, idempotency })))
      assert.deepEqual([again.outcome, again.submissionId], ['repeated', first.submissionId])
      const { idempotency: book, settledKeys } = namesOf(workspaceId)
      for (const key of [book, settledKeys]) assert.ok((await room.redis.ttl(key)) > 0)
    })

    it('say nothing more, even if they were read in another way than they were said', async () => {
      const workspaceId = randomUUID()
      const { settled } = await accept(workspaceId, 4)
      const unlike = settled.sayings.map(() => ({ newIds: [], aboutKeys: [] }))
      await room.books.settle([{ ...settled, sayings: unlike }])
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })
  })

  it('let a purge go before it is settled, once it is decided', async () => {
    const workspaceId = randomUUID()
    const { admitted, settled } = await accept(workspaceId, 1)
    const { number, settled: purged } = await purge(workspaceId)
    const { admitted: later } = await accept(workspaceId, 1)
    const readBarrier = () => barrierIn(room.redis, room.prefix)(workspaceId)
    const inHand = [
      { number, isPurge: true },
      { number: later[0]!.number, isPurge: false },
    ]
    assert.deepEqual((await readBarrier()).purges, [number])
    assert.deepEqual(readyNow(inHand, await readBarrier()), { ready: [], missing: [settled.batch.batchId] })
    await room.books.settle([settled])
    assert.deepEqual(readyNow(inHand, await readBarrier()), { ready: inHand.map((one) => one.number), missing: [] })
    assert.deepEqual(readyNow(inHand.slice(1), await readBarrier()), { ready: [], missing: [purged.batch.batchId] })
    await room.books.decide([purged])
    await room.books.decide([purged])
    assert.deepEqual(await readBarrier(), { purges: [], outstanding: [] })
    assert.deepEqual(readyNow(inHand.slice(1), await readBarrier()).ready, [later[0]!.number])
    assert.equal(await queuedOf(workspaceId), 2)
    assert.ok(await room.books.read(purged.batch), 'a worker that comes after a dead one finds it')
    await room.books.settle([purged])
    assert.equal(await queuedOf(workspaceId), 1)
    assert.equal(await room.redis.exists(namesOf(workspaceId).removing), 0)
    assert.ok(admitted[0]!.number < number)
  })

  describe('split', () => {
    it('have each submission as a batch of its own, and nothing else is changed', async () => {
      const workspaceId = randomUUID()
      const { admitted, settled } = await accept(workspaceId, 5)
      await room.handOver('submissions', { ...settled.batch, operations: [], bytes: 0 })
      const unsplit = {
        facts: await lookUp(workspaceId),
        ledger: await room.redis.hmget(namesOf(workspaceId).ledger, 'accepted', 'queued'),
      }
      await room.books.split(settled.batch)
      await room.books.split(settled.batch)
      const [bytes, ...ledger] = await room.redis.hmget(namesOf(workspaceId).ledger, 'bytes', 'accepted', 'queued')
      assert.deepEqual({ facts: await lookUp(workspaceId), ledger }, unsplit)
      assert.equal(Number(bytes), await bytesOfBatches(workspaceId))
      const ids = admitted.map(({ submissionId }) => submissionId)
      assert.deepEqual((await room.redis.zrange(namesOf(workspaceId).outbox, '0', '-1')).toSorted(), ids.toSorted())
      assert.equal(await room.redis.exists(namesOf(workspaceId).carriers), 0)
      assert.equal(await room.books.read(settled.batch), undefined)
      const ones = await Promise.all(ids.map((batchId) => room.books.read({ workspaceId, batchId })))
      assert.deepEqual(
        ones.map((one) => one?.submissions),
        settled.batch.submissions.map((one) => [one]),
      )
      const { number } = await purge(workspaceId)
      assert.deepEqual(
        (await barrierIn(room.redis, room.prefix)(workspaceId)).outstanding.map((one) => one.number),
        [...admitted.map((one) => one.number), number],
      )
    })

    it('have receipts as before, and are settled one by one', async () => {
      const workspaceId = randomUUID()
      const { admitted, settled } = await accept(workspaceId, 3)
      const receipts = () =>
        Promise.all(admitted.map(({ submissionId: id }) => findQueuedReceipt(room, { workspaceId, id })))
      const unsplit = await receipts()
      assert.ok(unsplit.every((receipt) => receipt !== undefined))
      await room.books.split(settled.batch)
      assert.deepEqual(await receipts(), unsplit)
      for (const [at, { submissionId }] of admitted.entries()) {
        assert.equal(await queuedOf(workspaceId), admitted.length - at)
        await room.settle(workspaceId, submissionId, SAYINGS)
      }
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })

    it('are not split once they are settled', async () => {
      const workspaceId = randomUUID()
      const { settled } = await accept(workspaceId, 3)
      await room.books.settle([settled])
      await room.books.split(settled.batch)
      assert.deepEqual(await room.keysOf(workspaceId), KEPT)
    })
  })

  describe('take a submission with a number of its own', () => {
    const batchedOf = (workspaceId: string, operation: SubmissionJob['operation'], number: number): Batched => ({
      submission: {
        version: JOB_VERSION,
        operation,
        workspaceId,
        submissionId: randomUUID(),
        number,
        body: { id: '1', description: SECRET },
      } as unknown as SubmissionJob,
      idempotency: undefined,
    })

    it('once, with what it says, and it is accepted no second time', async () => {
      const workspaceId = randomUUID()
      const batched = batchedOf(workspaceId, 'create_feedback', 1_000)
      const { submissionId } = batched.submission
      await room.books.put(batched, SAYINGS)
      const first = await dump(workspaceId)
      await room.books.put(batched, SAYINGS)
      assert.equal(await dump(workspaceId), first)
      assert.deepEqual((await room.books.read({ workspaceId, batchId: submissionId }))?.submissions, [batched])
      const totals = { workspaceId, accepted: 0, queued: 1, oldestNumber: 1_000 }
      assert.deepEqual(await readBookTotals(room.redis, room.prefix, [workspaceId]), [totals])
      const facts = await lookUp(workspaceId)
      assert.deepEqual(facts.get(EMAIL)?.said, [{ number: 1_000, sayings: SAYINGS.aboutKeys[0]!.sayings }])
      assert.equal(facts.get(RECORD)?.existsFrom, 1_000)
      assert.deepEqual(await room.redis.zrange(namesOf(workspaceId).outbox, '0', '-1'), [submissionId])
      await room.settle(workspaceId, submissionId, SAYINGS)
      assert.deepEqual(await room.keysOf(workspaceId), ['ledger'])
    })

    it('leave an own id with the later submission that made it exist', async () => {
      const workspaceId = randomUUID()
      const { admitted } = await accept(workspaceId, 1)
      await room.books.put(batchedOf(workspaceId, 'create_feedback', 1_000), SAYINGS)
      assert.equal((await lookUp(workspaceId)).get(RECORD)?.existsFrom, admitted[0]!.number)
    })

    it('make others wait for a purge, unless it is decided and only its records are still there', async () => {
      const workspaceId = randomUUID()
      const batched = batchedOf(workspaceId, 'purge_contact', 1_000)
      await room.books.put(batched, SAYINGS)
      assert.deepEqual((await barrierIn(room.redis, room.prefix)(workspaceId)).purges, [1_000])
      await room.settle(workspaceId, batched.submission.submissionId, SAYINGS)
      const { removing } = namesOf(workspaceId)
      await room.redis.zadd(removing, 1_000, batched.submission.submissionId)
      await room.books.put(batched, SAYINGS)
      assert.deepEqual((await barrierIn(room.redis, room.prefix)(workspaceId)).purges, [])
      assert.deepEqual((await lookUp(workspaceId)).get(EMAIL)?.said, [])
      await room.settle(workspaceId, batched.submission.submissionId, SAYINGS)
      assert.deepEqual(await room.keysOf(workspaceId), ['ledger'])
    })
  })

  it('count how often a worker had a batch alone in hand, until it lived or the batch is settled', async () => {
    const workspaceId = randomUUID()
    const { settled, admitted } = await accept(workspaceId, 1)
    const { batch } = settled
    assert.deepEqual([await room.books.noteAlone(batch), await room.books.noteAlone(batch)], [1, 2])
    assert.equal(await room.books.noteAlone({ workspaceId, batchId: randomUUID() }), 1)
    await room.books.noteSurvived(batch)
    assert.equal(await room.books.noteAlone(batch), 1)
    await room.books.settle([settled])
    assert.equal(await room.redis.hexists(namesOf(workspaceId).alone, batchIdOf(admitted[0]!.submissionId)), 0)
  })
})

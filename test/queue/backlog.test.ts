import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as v from 'valibot'
import { backlogJob } from '../../contract/job.ts'
import type { Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { BACKLOG_BEYOND, backlogsSince, drainBacklogs, drainFurther, readBacklog } from '../../queue/backlog.ts'
import { batchIdOf } from '../../queue/batch.ts'
import { admissionKeys } from '../../queue/keys.ts'
import { watchHandOvers } from '../../queue/hand-over.ts'
import { handOverLeft, handOverLost } from '../../queue/outbox.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'

const LARGE = JSON.stringify({ description: 'x'.repeat(BACKLOG_BEYOND.bytes / 2) })

describe('the backlog of a workspace', () => {
  let room: ReturnType<typeof openQueueRoom>
  let admit: Admit
  let handOvers: ReturnType<typeof watchHandOvers>
  before(() => {
    room = openQueueRoom()
    const { redis, prefix } = room
    handOvers = watchHandOvers(room.handOver)
    admit = admissionsIn({ redis, prefix, handOver: handOvers.handOver, findStoredKey: async () => null })
  })
  beforeEach(() => Promise.all(Object.values(room.queues).map((queue) => queue.obliterate({ force: true }))))
  after(() => room.close())

  const namesOf = (workspaceId: string) => admissionKeys(room.prefix, workspaceId)
  /** One after the other, each large enough that the second has a backlog, and handed over. Returns the batches. */
  const accept = async (workspaceId: string, count: number): Promise<string[]> => {
    const batches: string[] = []
    for (let place = 0; place < count; place++) {
      batches.push(batchIdOf(entered(await admit(asked({ workspaceId, bodyText: LARGE }))).submissionId))
    }
    await handOvers.ended()
    return batches
  }
  const backlogOf = (workspaceId: string): Promise<string[]> =>
    room.redis.zrange(namesOf(workspaceId).backlog, '0', '-1')
  const drainsOf = async (): Promise<string[]> =>
    (await room.queues.backlogs.getJobs(['waiting', 'active'])).map(({ data }) => v.parse(backlogJob, data).workspaceId)

  it('begins where much waits already: what waits there has one job for all, and others go on as before', async () => {
    const [heavy, light] = [randomUUID(), randomUUID()]
    const batches = await accept(heavy, 4)
    await accept(light, 1)
    assert.deepEqual(await drainsOf(), [heavy])
    assert.deepEqual(await backlogOf(heavy), batches.slice(1))
    assert.deepEqual(await backlogOf(light), [])
    const jobs = await room.queues.submissions.getJobs(['waiting'])
    assert.equal(jobs.flatMap(({ data }) => data.batches as unknown[]).length, 2)
  })

  it('begins with many small ones as well', async () => {
    const workspaceId = randomUUID()
    const count = BACKLOG_BEYOND.submissions + 200
    await Promise.all(Array.from({ length: count }, () => admit(asked({ workspaceId }))))
    const outstanding = await room.redis.zcard(namesOf(workspaceId).outstanding)
    const backlog = (await backlogOf(workspaceId)).length
    assert.ok(backlog > 0 && backlog < outstanding, `${backlog} of ${outstanding} batches`)
  })

  it('has a bound of its own, which keeps nobody else out', async () => {
    const [heavy, light] = [randomUUID(), randomUUID()]
    await accept(heavy, 2)
    const mostBytes = LARGE.length
    const ask = (workspaceId: string) => admit(asked({ workspaceId, mostBytes }))
    assert.deepEqual([(await ask(heavy)).outcome, (await ask(light)).outcome], ['full', 'admitted'])
    const large = await admit(asked({ workspaceId: heavy, mostBytes, bodyText: LARGE }))
    assert.equal(large.outcome, 'full')
  })

  it('is no place for purges', async () => {
    const workspaceId = randomUUID()
    const [, second] = await accept(workspaceId, 2)
    await admit(asked({ workspaceId, operation: 'purge_contact' }))
    assert.deepEqual(await backlogOf(workspaceId), [second])
  })

  it('is read in the order of admission, without what is in hand, and forgets what is gone', async () => {
    const workspaceId = randomUUID()
    const [, second, third, fourth] = await accept(workspaceId, 4)
    await room.redis.unlink(namesOf(workspaceId).batch(third!))
    const read = (most: number, inHand: string[] = []) =>
      readBacklog(room.redis, room.prefix, { workspaceId, most, inHand: new Set(inHand) })
    const [first, ...others] = await read(3, [second!])
    assert.deepEqual([first!.batchId, others], [fourth, []])
    assert.equal(first!.bytes, await room.redis.strlen(namesOf(workspaceId).batch(fourth!)))
    assert.deepEqual(await backlogOf(workspaceId), [second, fourth])
  })

  it('ends with what is settled, with no byte counted, and then nothing is drained further', async () => {
    const workspaceId = randomUUID()
    const batches = await accept(workspaceId, 3)
    for (const batchId of batches) await room.settle(workspaceId, batchId)
    assert.deepEqual(await backlogOf(workspaceId), [])
    assert.equal(await room.redis.hget(namesOf(workspaceId).ledger, 'bytes'), '0')
    assert.deepEqual(await drainsOf(), [workspaceId])
    await room.queues.backlogs.obliterate({ force: true })
    await drainFurther(room, workspaceId)
    assert.deepEqual(await drainsOf(), [])
  })

  it('is drained again when its job ended or was lost, and what was lost is not handed over one by one', async () => {
    const workspaceId = randomUUID()
    const batches = await accept(workspaceId, 3)
    assert.deepEqual(await drainsOf(), [workspaceId])
    await room.queues.backlogs.obliterate({ force: true })
    const found = { workspaceIds: [workspaceId, randomUUID()], forMs: -1_000 }
    assert.equal(await handOverLeft(room, found), 0)
    assert.equal(await handOverLost(room, found), 0)
    assert.deepEqual(await backlogOf(workspaceId), batches.slice(1))
    const backlogs = await backlogsSince(room.redis, room.prefix, found)
    assert.deepEqual(backlogs, [workspaceId])
    await drainBacklogs(room.queues, backlogs)
    await drainBacklogs(room.queues, backlogs)
    await drainFurther(room, workspaceId)
    assert.deepEqual(await drainsOf(), [workspaceId])
  })

  it('loses what gets a job of its own', async () => {
    const workspaceId = randomUUID()
    const [first, second, third] = await accept(workspaceId, 3)
    const handed = { workspaceId, batchId: second!, operations: ['create_feedback'] as const, bytes: 1 }
    await room.handOver('submissions', { ...handed, apart: {} })
    assert.deepEqual(await backlogOf(workspaceId), [third])
    const { batch } = await room.readSettled(workspaceId, third!)
    await room.books.split(batch)
    assert.deepEqual(await backlogOf(workspaceId), [])
    assert.equal(await room.redis.zcard(namesOf(workspaceId).outstanding), 3)
    assert.ok(first)
  })
})

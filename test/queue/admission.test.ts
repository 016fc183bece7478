import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Sayings } from '../../contract/identity/sayings.ts'
import type { Admission, AdmissionRequest } from '../../queue/admission.ts'
import { batchIdOf, submissionIdIn } from '../../queue/batch.ts'
import { admissionKeys, MICROSECONDS_PER_MS } from '../../queue/keys.ts'
import { queuedFactsIn } from '../../queue/queued-facts.ts'
import { findQueuedReceipt } from '../../queue/queued-receipt.ts'
import { queuedSubmissions } from '../../queue/queued-submissions.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'

const TOKENS = 10
const AT_ONCE = 200
const MOST_OF_A_CALL = 64
const LARGE = JSON.stringify({ description: 'x'.repeat(100_000) })

describe('submissions that are admitted together', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  const namesOf = (workspaceId: string) => admissionKeys(room.prefix, workspaceId)
  /** One after the other in the same turn, so that they share calls. */
  const together = (requests: readonly AdmissionRequest[]): Promise<Admission[]> =>
    Promise.all(requests.map((request) => room.admit(request)))
  const outcomes = (admitted: readonly Admission[]): Admission['outcome'][] => admitted.map(({ outcome }) => outcome)
  const numberOf = (admission: Admission | undefined): number => entered(admission).number
  const batchesOf = async (workspaceId: string): Promise<string[]> =>
    room.redis.zrange(namesOf(workspaceId).outstanding, '0', '-1')

  it('get no number at or below the floor, which is asked for where Redis is asked', async () => {
    const workspaceId = randomUUID()
    let floor = 10 ** 15 * 4
    const admit = room.admitAbove(async () => floor)
    const admission = admit(asked({ workspaceId }))
    floor += 10
    assert.equal(numberOf(await admission), floor + 1)
    assert.equal(numberOf(await room.admit(asked({ workspaceId }))), floor + 2)
  })

  it('get numbers in the order in which they came, each one of its own', async () => {
    const workspaceId = randomUUID()
    const requests = Array.from({ length: AT_ONCE }, (_, index) =>
      asked({ workspaceId, bodyText: `{"description":"${index}"}` }),
    )
    const admitted = (await together(requests)).map(entered)
    const numbers = admitted.map(({ number }) => number)
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
    )
    assert.ok(numberOf(await room.admit(asked({ workspaceId }))) > numbers.at(-1)!)
    const queued = (await Array.fromAsync(queuedSubmissions(room.redis, room.prefix, workspaceId))).slice(0, AT_ONCE)
    assert.deepEqual(
      queued.map(({ submissionId, number, body }) => ({ submissionId, number, body })),
      admitted.map(({ submissionId, number }, index) => ({ submissionId, number, body: { description: `${index}` } })),
    )
    const counted = String(AT_ONCE + 1)
    assert.deepEqual(await room.redis.hmget(namesOf(workspaceId).ledger, 'accepted', 'queued'), [counted, counted])
  })

  it('are one batch a call, which the books and the outbox name; the ids tell their places in it', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: MOST_OF_A_CALL - 1, windowMs: 60_000 }
    const requests = Array.from({ length: MOST_OF_A_CALL }, () => asked({ workspaceId, limit }))
    const [refused] = requests.splice(3, 1, asked({ workspaceId, operation: 'identify_contact', full: true }))
    const admitted = await together([...requests, refused!])
    assert.deepEqual([admitted[3]?.outcome, admitted[MOST_OF_A_CALL]?.outcome], ['full', 'rate-limited'])
    const those = admitted.filter(({ outcome }) => outcome === 'admitted').map(entered)
    const [batchId] = await batchesOf(workspaceId)
    assert.deepEqual(
      those.map(({ submissionId }) => submissionId),
      requests.flatMap((_, index) => (index === 3 ? [] : submissionIdIn(batchId!, index + 1))),
    )
    assert.ok(those.every(({ submissionId }) => batchIdOf(submissionId) === batchId))
    assert.deepEqual(await batchesOf(workspaceId), await room.redis.zrange(namesOf(workspaceId).outbox, '0', '-1'))
    const first = those[0]!
    assert.deepEqual(
      those.map(({ number }) => number - first.number),
      requests.flatMap((_, index) => (index === 3 ? [] : index)),
    )
  })

  it('have a receipt each, and what was refused has none', async () => {
    const workspaceId = randomUUID()
    const [one, refused, other] = await together([
      asked({ workspaceId }),
      asked({ workspaceId, full: true }),
      asked({ workspaceId, operation: 'identify_account' }),
    ])
    assert.equal(refused?.outcome, 'full')
    const find = (id: string) => findQueuedReceipt(room, { workspaceId, id })
    const batchId = batchIdOf(entered(one).submissionId)
    assert.equal((await find(entered(one).submissionId))?.operation, 'create_feedback')
    const receipt = await find(entered(other).submissionId)
    assert.deepEqual(
      [receipt?.operation, receipt?.state, Date.parse(receipt!.acceptedAt)],
      ['identify_account', 'queued', Math.floor(numberOf(other) / 1_000)],
    )
    for (const none of [batchId, submissionIdIn(batchId, 2), submissionIdIn(batchId, 4), randomUUID()]) {
      assert.equal(await find(none), undefined)
    }
  })

  it('share a limit: of two hundred the first ten pass', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: TOKENS, windowMs: 60_000 }
    const admitted = await together(Array.from({ length: AT_ONCE }, () => asked({ workspaceId, limit })))
    assert.deepEqual(outcomes(admitted), [
      ...Array<string>(TOKENS).fill('admitted'),
      ...Array<string>(AT_ONCE - TOKENS).fill('rate-limited'),
    ])
    const remaining = admitted.map((one) => ('bucket' in one ? one.bucket?.remaining : undefined))
    assert.deepEqual(remaining.slice(0, TOKENS + 1), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0])
    const name = namesOf(workspaceId)
    assert.equal(await room.redis.llen(name.bucket('create_feedback')), TOKENS)
    assert.equal(await room.redis.hget(name.ledger, 'queued'), String(TOKENS))
  })

  it('are told apart by what else decides: of what, and whether any may enter', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: 1, windowMs: 60_000 }
    const admitted = await together([
      asked({ workspaceId, limit, full: true }),
      asked({ workspaceId, limit, peek: true }),
      asked({ workspaceId, limit }),
      asked({ workspaceId, limit, full: true }),
      asked({ workspaceId, limit, operation: 'identify_contact' }),
      asked({ workspaceId: randomUUID(), limit }),
      asked({ workspaceId }),
    ])
    assert.deepEqual(outcomes(admitted), [
      'full',
      'fresh',
      'admitted',
      'rate-limited',
      'admitted',
      'admitted',
      'admitted',
    ])
  })

  it('leave nothing when none of them enters', async () => {
    const workspaceId = randomUUID()
    await together([asked({ workspaceId, full: true }), asked({ workspaceId, peek: true })])
    assert.deepEqual(await room.keysOf(workspaceId), [])
  })

  it('are judged before a large body is sent, and it enters whole', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: 1, windowMs: 60_000 }
    const large = asked({ workspaceId, limit, bodyText: LARGE })
    const admission = entered(await room.admit(large))
    assert.equal((await room.admit(large)).outcome, 'rate-limited')
    assert.equal((await room.admit({ ...large, limit: undefined, full: true })).outcome, 'full')
    const { batch } = await room.readSettled(workspaceId, admission.submissionId)
    assert.equal(JSON.stringify(batch.submissions[0]?.submission.body), LARGE)
    assert.equal(await room.redis.hget(namesOf(workspaceId).ledger, 'accepted'), '1')
  })

  it('are not held against a limit when they were spent before the clock of Redis went back', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: TOKENS, windowMs: 60_000 }
    const ahead = (Date.now() + 3_600_000) * MICROSECONDS_PER_MS
    const bucket = namesOf(workspaceId).bucket('create_feedback')
    await room.redis.lpush(bucket, ...Array.from({ length: TOKENS }, (_, index) => ahead + index))
    const admitted = await together(Array.from({ length: TOKENS + 1 }, () => asked({ workspaceId, limit })))
    assert.deepEqual(outcomes(admitted), [...Array<string>(TOKENS).fill('admitted'), 'rate-limited'])
  })

  it('are judged without what they say, which can take as long to make as the rest together', async () => {
    const workspaceId = randomUUID()
    const email = randomUUID()
    const sayings = { newIds: [], aboutKeys: [{ keyId: email, sayings: [{ kind: 'given' as const, unless: null }] }] }
    let times = 0
    const saidBy: AdmissionRequest['saidBy'] = () => {
      times++
      return { sayings, lookUp: [email] }
    }
    const idempotency = { key: 'key', body: 'nineChars' }
    const limit = { tokens: 1, windowMs: 60_000 }
    const large = { ...asked({ workspaceId, limit, bodyText: LARGE }), saidBy }
    await together([
      { ...large, full: true },
      { ...large, peek: true, idempotency },
    ])
    assert.equal(times, 0)
    const admitted = entered(await room.admit({ ...large, idempotency }))
    assert.equal(times, 1)
    assert.equal((await room.admit(large)).outcome, 'rate-limited')
    assert.equal(times, 1)
    // The answer to one that is repeated looks up what was queued, however it is asked.
    for (const how of [{}, { full: true }, { peek: true }, { bodyText: '{}' }]) {
      const repeated = entered(await room.admit({ ...large, ...how, idempotency }))
      assert.equal(repeated.submissionId, admitted.submissionId)
      assert.deepEqual(
        repeated.queued.get(email)?.said.map(({ number }) => number),
        [admitted.number],
      )
    }
  })

  it('see what those before them say, and no more', async () => {
    const workspaceId = randomUUID()
    const [email, project] = [randomUUID(), randomUUID()]
    const aboutKeys = [{ keyId: email, sayings: [{ kind: 'given' as const, unless: null }] }]
    const lookUp = [randomUUID(), email, project]
    const admitted = await together([
      asked({ workspaceId, lookUp }),
      asked({ workspaceId, lookUp, sayings: { newIds: [], aboutKeys } }),
      asked({ workspaceId, lookUp, sayings: { newIds: [{ id: project, of: 'project' }], aboutKeys } }),
      asked({ workspaceId, lookUp, sayings: { newIds: [{ id: project, of: 'project' }], aboutKeys: [] } }),
      asked({ workspaceId, lookUp: [project] }),
    ])
    const told = admitted.map((one) => ('queued' in one ? [...one.queued] : []))
    const numbers = admitted.map(numberOf)
    const saying = (index: number) => ({ number: numbers[index], sayings: aboutKeys[0]!.sayings })
    const ofEmail = (...indexes: number[]) => [email, { existsFrom: null, of: null, said: indexes.map(saying) }]
    const ofProject = [project, { existsFrom: numbers[2], of: 'project', said: [] }]
    assert.deepEqual(told, [[], [], [ofEmail(1)], [ofEmail(1, 2), ofProject], [ofProject]])
  })

  it('make an external id exist until the last of them is settled, and a project from the first of them on', async () => {
    const workspaceId = randomUUID()
    const [id, group, project] = [randomUUID(), randomUUID(), randomUUID()]
    const sayings: Sayings = {
      newIds: [
        { id, of: group },
        { id: project, of: 'project' },
      ],
      aboutKeys: [],
    }
    const earlier = entered(await room.admit(asked({ workspaceId, sayings })))
    const later = entered(await room.admit(asked({ workspaceId, sayings })))
    const exist = async () => queuedFactsIn(room.redis, room.prefix)(workspaceId, [id, project])
    assert.equal((await exist()).get(project)?.existsFrom, earlier.number)
    await room.settle(workspaceId, earlier.submissionId, sayings)
    assert.deepEqual((await exist()).get(id), { existsFrom: later.number, of: group, said: [] })
  })

  it('know of purges before them, which lie in no batch with others', async () => {
    const workspaceId = randomUUID()
    const earlier = await room.admit(asked({ workspaceId }))
    const purges = await together([
      asked({ workspaceId, operation: 'purge_contact' }),
      asked({ workspaceId, operation: 'purge_contact' }),
    ])
    const afterwards = await room.admit(asked({ workspaceId }))
    assert.deepEqual(
      [earlier, ...purges, afterwards].map((one) => entered(one).purgesQueued),
      [false, false, true, true],
    )
    assert.equal((await batchesOf(workspaceId)).length, 4)
  })

  it('all fail when their call fails, and none has entered', async () => {
    const workspaceId = randomUUID()
    const name = namesOf(workspaceId)
    await room.redis.set(name.outstanding, 'no set')
    const failed = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => room.admit(asked({ workspaceId }))))
    assert.ok(failed.every(({ status }) => status === 'rejected'))
    assert.equal(await room.redis.exists(name.number, name.ledger, name.outbox), 0)
    await room.redis.unlink(name.outstanding)
    assert.equal((await room.admit(asked({ workspaceId }))).outcome, 'admitted')
  })
})

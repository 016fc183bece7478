import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import type { Admission, AdmissionRequest, Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { admissionKeys } from '../../queue/keys.ts'
import type { Sayings } from '../../contract/identity/sayings.ts'
import { freeIdempotencyKeys } from '../../queue/idempotency.ts'
import { queuedFactsIn } from '../../queue/queued-facts.ts'
import { openBooksIn } from '../../queue/open-books.ts'
import { noQueues } from '../support/no-queues.ts'
import { testServers } from '../support/servers.ts'

const TOKENS = 10
const AT_ONCE = 200

describe('submissions that are admitted together', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  let redis: Redis
  let admit: Admit
  const queued = new Set<string>()
  before(() => {
    redis = new Redis(testServers().redisUrl)
    admit = admissionsIn(redis, prefix, { ...noQueues, isQueued: async ({ submissionId }) => queued.has(submissionId) })
  })
  after(async () => {
    for await (const keys of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys as string[])
    }
    await redis.quit()
  })

  const asked = (given: Partial<AdmissionRequest> & { workspaceId: string }): AdmissionRequest => ({
    operation: 'create_feedback',
    submissionId: randomUUID(),
    sayings: { newIds: [], aboutKeys: [] },
    lookUp: [],
    ...given,
  })
  /** One after the other in the same turn, so that they share calls. */
  const together = (requests: readonly AdmissionRequest[]): Promise<Admission[]> =>
    Promise.all(requests.map((request) => admit(request)))
  const outcomes = (admitted: readonly Admission[]): Admission['outcome'][] => admitted.map(({ outcome }) => outcome)
  const numberOf = (admission: Admission | undefined): number => {
    assert.ok(admission?.outcome === 'admitted' || admission?.outcome === 'repeated', String(admission?.outcome))
    return admission.number
  }

  it('get numbers in the order in which they came, each one of its own, none at or below a floor', async () => {
    const workspaceId = randomUUID()
    const floor = 10 ** 15 * 4
    const requests = Array.from({ length: AT_ONCE }, (_, index) =>
      asked({ workspaceId, floor: index === 7 ? floor : 0 }),
    )
    const numbers = (await together(requests)).map(numberOf)
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
    )
    assert.ok(numbers[7]! > floor)
    assert.ok(numberOf(await admit(asked({ workspaceId }))) > numbers.at(-1)!)
    const name = admissionKeys(prefix, workspaceId)
    const outstanding = await redis.zrange(name.outstanding, '0', String(AT_ONCE - 1), 'WITHSCORES')
    assert.deepEqual(
      outstanding,
      requests.flatMap(({ submissionId }, index) => [submissionId, String(numbers[index])]),
    )
    assert.equal(await redis.hget(name.ledger, 'accepted'), String(AT_ONCE + 1))
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
    const name = admissionKeys(prefix, workspaceId)
    assert.equal(await redis.llen(name.bucket('create_feedback')), TOKENS)
    assert.equal(await redis.zcard(name.outstanding), TOKENS)
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

  it('have an idempotency key only once', async () => {
    const workspaceId = randomUUID()
    const idempotency = { key: 'key', body: 'body' }
    const concerned = randomUUID()
    const request = () => asked({ workspaceId, idempotency, concerns: [concerned] })
    const first = request()
    const admitted = await together([
      first,
      request(),
      asked({ workspaceId, idempotency: { key: 'key', body: 'other' } }),
    ])
    assert.deepEqual(outcomes(admitted), ['admitted', 'in-flight', 'other-body'])
    const number = numberOf(admitted[0])
    queued.add(first.submissionId)
    const [repeated, elsewhere] = await together([
      request(),
      asked({ workspaceId, idempotency, operation: 'identify_account' }),
    ])
    assert.ok(repeated?.outcome === 'repeated')
    assert.deepEqual([repeated.submissionId, repeated.number], [first.submissionId, number])
    assert.equal(elsewhere?.outcome, 'admitted')
    await freeIdempotencyKeys(redis, prefix, { workspaceId, keyIds: [concerned], number })
    assert.equal((await admit(request())).outcome, 'repeated', 'a purge frees what came before it')
    await freeIdempotencyKeys(redis, prefix, { workspaceId, keyIds: [concerned], number: number + 1 })
    assert.equal((await admit(request())).outcome, 'admitted')
  })

  it('have their idempotency key when they are settled, and not when they are withdrawn or got lost', async () => {
    const workspaceId = randomUUID()
    const name = admissionKeys(prefix, workspaceId)
    const idempotency = { key: 'key', body: 'body' }
    const request = () => asked({ workspaceId, idempotency })
    const [settled, withdrawn, lost, last] = [request(), request(), request(), request()]
    const { sayings } = settled
    const number = numberOf(await admit(settled))
    await openBooksIn(redis, prefix).settle([{ workspaceId, submissionId: settled.submissionId, number, sayings }])
    const repeated = await admit(request())
    assert.ok(repeated.outcome === 'repeated' && repeated.submissionId === settled.submissionId)

    await redis.unlink(name.idempotency('create_feedback', 'key'))
    await admit(withdrawn)
    await redis.zrem(name.outstanding, withdrawn.submissionId)
    await redis.set(name.withdrawn(withdrawn.submissionId), '')
    const afterwards = numberOf(await admit(lost))
    assert.equal((await admit(request())).outcome, 'in-flight')

    const longAgo = afterwards - 61_000_000
    await redis.set(name.idempotency('create_feedback', 'key'), `body:${lost.submissionId}:${longAgo}:admitted`)
    const anew = await admit(last)
    assert.equal(anew.outcome, 'admitted')
    queued.add(last.submissionId)
    const again = await admit(request())
    assert.ok(again.outcome === 'repeated' && again.submissionId === last.submissionId)
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
    const first = asked({ workspaceId, sayings })
    const [earlier, later] = await together([first, asked({ workspaceId, sayings })])
    const exist = async () => queuedFactsIn(redis, prefix)(workspaceId, [id, project])
    assert.equal((await exist()).get(project)?.existsFrom, numberOf(earlier))
    const { submissionId } = first
    await openBooksIn(redis, prefix).settle([{ workspaceId, submissionId, number: numberOf(earlier), sayings }])
    assert.deepEqual((await exist()).get(id), { existsFrom: numberOf(later), of: group, said: [] })
  })

  it('know of purges before them', async () => {
    const workspaceId = randomUUID()
    const admitted = await together([
      asked({ workspaceId }),
      asked({ workspaceId, operation: 'purge_contact' }),
      asked({ workspaceId }),
    ])
    assert.deepEqual(
      admitted.map((one) => 'purgesQueued' in one && one.purgesQueued),
      [false, false, true],
    )
  })

  it('all fail when their call fails, and none has entered', async () => {
    const workspaceId = randomUUID()
    const name = admissionKeys(prefix, workspaceId)
    await redis.set(name.outstanding, 'no set')
    const failed = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => admit(asked({ workspaceId }))))
    assert.ok(failed.every(({ status }) => status === 'rejected'))
    assert.equal(await redis.exists(name.number, name.ledger), 0)
    await redis.unlink(name.outstanding)
    assert.equal((await admit(asked({ workspaceId }))).outcome, 'admitted')
  })
})

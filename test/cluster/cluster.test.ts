import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Cluster } from 'ioredis'
import { createAdmit } from '../../queue/admission/admit.ts'
import type { Admit } from '../../queue/admission/call-admit.ts'
import { connectToAnswer } from '../../queue/redis/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createLog, type Log } from '../../queue/log/log.ts'
import { runCommand } from '../support/command.ts'
import { deleteOneOf } from '../support/deleted-workspace.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { asked, takeSettings, wakesNobody } from '../support/queue-room.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const AT = '2026-01-01T00:00:00Z'
/** Higher than any number by the clock, so that the first submission gets it. */
const FIRST_NUMBER = 4_000_000_000_000_000

describe('on a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster
  let service: Service
  let ingress: Cluster
  before(async () => {
    cluster = await startRedisCluster()
    service = await startService({ redisUrl: cluster.url })
    ingress = connectToAnswer(cluster.url) as Cluster
    ingress.on('error', () => {})
    await once(ingress, 'ready')
  })
  after(async () => {
    ingress?.disconnect()
    await service?.stop()
    await cluster?.stop()
  })

  const admitWith = (floorOf?: () => Promise<number>): Admit =>
    createAdmit({
      redis: ingress,
      prefix: service.redisPrefix,
      wake: wakesNobody,
      findStoredKey: async () => null,
      ...(floorOf && { floorOf }),
    })

  it('an admission in flight when its connection breaks fails, is not repeated, and the next one passes at once', async () => {
    const workspaceId = randomUUID()
    const admit = admitWith()
    const submit = () => admit(asked({ workspaceId }))
    await submit()
    const { state } = workspaceKeys(service.redisPrefix, workspaceId)
    const { port, redis } = await cluster.holderOf(state)
    const node = ingress.nodes('master').find(({ options }) => options.port === port)!
    const id = await node.client('ID')
    await redis.call('CLIENT', 'PAUSE', '10000', 'WRITE')
    const submitted = assert.rejects(submit())
    await until('it is held', async () =>
      new RegExp(`^id=${id} .* flags=\\S*b`, 'm').test(String(await redis.client('LIST'))),
    )
    await redis.client('KILL', 'ID', id)
    await submitted
    await redis.call('CLIENT', 'UNPAUSE')
    assert.equal((await submit()).outcome, 'admitted')
    assert.equal(await redis.hget(state, 'appended'), '2')
  })

  type Change = (room: { admit: Admit; log: Log }, workspaceId: string) => Promise<unknown>
  const changes: Readonly<Record<string, Change>> = {
    admitted: ({ admit }, workspaceId) =>
      admit(asked({ workspaceId, idempotency: { key: 'k', body: 'b' }, limit: { tokens: 5, windowMs: 60_000 } })),
    taken: ({ log }, workspaceId) => log.take([{ workspaceId }], takeSettings()),
    'trimmed and taken': ({ log }, workspaceId) => log.take([{ workspaceId, applied: FIRST_NUMBER }], takeSettings()),
  }
  for (const [what, carryOut] of Object.entries(changes))
    it(`a log that is ${what} does not change while its slot moves`, async () => {
      const workspaceId = randomUUID()
      const admit = admitWith(async () => FIRST_NUMBER - 1)
      for (const key of ['one', 'two']) await admit(asked({ workspaceId, idempotency: { key, body: 'b' } }))
      const name = workspaceKeys(service.redisPrefix, workspaceId)
      const contents = async (): Promise<unknown> => {
        const keys = await Promise.all(ingress.nodes('master').map((node) => node.keys(name.every)))
        return Promise.all(
          keys
            .flat()
            .toSorted()
            .map(async (key) => [key, await ingress.dumpBuffer(key)]),
        )
      }
      const former = await contents()
      const change = () => carryOut({ admit, log: createLog(ingress, service.redisPrefix) }, workspaceId)
      const slot = await cluster.nodes[0]!.redis.cluster('KEYSLOT', name.state)
      const owner = await cluster.holderOf(name.state)
      const other = cluster.nodes.find((node) => node !== owner)!
      await owner.redis.cluster('SETSLOT', slot, 'MIGRATING', await other.redis.cluster('MYID'))
      await assert.rejects(change(), /Too many Cluster redirections/)
      await owner.redis.cluster('SETSLOT', slot, 'STABLE')
      assert.deepEqual(await contents(), former)
      await change()
      assert.notDeepEqual(await contents(), former)
    })

  it('a purge leaves no data on any node', async () => {
    const mark = `canary${randomBytes(4).toString('hex')}`
    const accept = async (path: string, body: object, headers: Record<string, string> = {}): Promise<void> => {
      const answer = await service.post(path, body, { headers, token: service.adminToken })
      assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
    }
    const texts = { description: `${mark} dark mode`, title: mark, sourceData: { [mark]: mark } }
    const contact = { id: mark, properties: { $email: `${mark}@example.com`, $name: mark, [mark]: mark } }
    await holdWork(service.queues)
    await accept('/contacts/identify', contact)
    await accept('/feedbacks', { ...texts, contact: { email: `${mark}@example.com` } }, { 'Idempotency-Key': mark })
    const messages = [{ id: mark, incoming: true, contactId: mark, content: mark, createdAt: AT }]
    await accept('/conversations', { id: mark, source: 'chat', createdAt: AT, contacts: [contact], messages })
    assert.ok((await findTraces(service, [mark])).length > 0, 'the canary is found while it is queued')
    const purged = accept('/contacts/purge', { id: mark })
    await resumeWork(service.queues)
    await purged
    await until('the purge is finished', async () => {
      const purges = await service.sql`
        select from submission where operation = 'purge_contact' and state = 'applied'`
      return purges.count > 0
    })
    assert.deepEqual(await findTraces(service, [mark]), [])
    const verified = await runCommand(service, 'cli/purge/verify-command.ts', '--text', mark)
    assert.deepEqual([verified.code, verified.stderr], [0, ''])
  })

  it('a deleted workspace leaves no key on any node', () => deleteOneOf(service))

  it('doctor checks each node, and the operators’ pages answer', async () => {
    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    for (const { port } of cluster.nodes)
      assert.match(stdout, new RegExp(`^well +127.0.0.1:${port}: Redis evicts`, 'm'))
    for (const path of ['/readyz', '/metrics', '/admin/queues']) {
      const { status } = await service.request(path, undefined, { method: 'GET', token: service.adminToken })
      assert.equal(status, 200, path)
    }
  })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const AT = '2026-01-01T00:00:00Z'

describe('on a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster
  let service: Service
  before(async () => {
    cluster = await startRedisCluster()
    service = await startService({ redisUrl: cluster.url })
  })
  after(async () => {
    await service?.stop()
    await cluster?.stop()
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

  it('the doctor checks each node, and the pages of operators answer', async () => {
    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    for (const { port } of cluster.nodes)
      assert.match(stdout, new RegExp(`^well +127.0.0.1:${port}: Redis evicts`, 'm'))
    for (const path of ['/readyz', '/metrics', '/admin/queues']) {
      const { status } = await service.get(path, { token: service.adminToken })
      assert.equal(status, 200, path)
    }
  })
})

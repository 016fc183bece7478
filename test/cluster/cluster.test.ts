import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Cluster, Redis } from 'ioredis'
import { createAdmit } from '../../queue/admit.ts'
import { connectToAnswer } from '../../queue/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { deleteOneOf } from '../support/deleted-workspace.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger } from '../support/ledgers.ts'
import { outlive } from '../support/outlive.ts'
import { asked, wakesNobody } from '../support/queue-room.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const SUBMISSIONS = process.env['TEST_SIZE'] === 'long' ? 2_000 : 200
const AT = '2026-01-01T00:00:00Z'

describe('on a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster
  let service: Service
  const workers: ServiceProcess[] = []
  const outputs: (() => string)[] = []
  const startWorker = async (): Promise<void> => {
    const worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
    outputs.push(worker.output)
    workers.push(worker)
  }
  before(async () => {
    cluster = await startRedisCluster()
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    service = await startService({ apis: 2, workers: 0, redisUrl: cluster.url, environment })
    // Generated tags depend on the order of texts.
    await service.queues.tagging.pause()
    await startWorker()
    await startWorker()
  })
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await service.stop()
    await cluster.stop()
  })

  const accepted = async (path: string, body: object, headers: Record<string, string> = {}): Promise<void> => {
    const answer = await service.post(path, body, { headers, token: service.adminToken })
    assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
  }

  it(`two APIs and two workers, one of them killed, store ${SUBMISSIONS} submissions as the model has them`, async () => {
    const strike = async (): Promise<void> => {
      await workers.shift()!.kill()
      await startWorker()
    }
    await outlive(service, { submissions: SUBMISSIONS, strike })
    const used = await Promise.all(cluster.nodes.map(async ({ redis }) => (await redis.dbsize()) > 0))
    assert.ok(used.filter(Boolean).length > 1, 'the queues and the logs are spread')
  })

  it('an idempotency key holds across API processes', async () => {
    const key = { 'Idempotency-Key': randomBytes(8).toString('hex') }
    const first = await service.post('/feedbacks', { description: 'once' }, { headers: key, api: 0 })
    const again = await service.post('/feedbacks', { description: 'once' }, { headers: key, api: 1 })
    const other = await service.post('/feedbacks', { description: 'another' }, { headers: key, api: 1 })
    assert.deepEqual([first.status, again.status, other.status], [201, 201, 422])
    assert.equal(first.headers.get('Submission-Id'), again.headers.get('Submission-Id'))
  })

  it('an admission in flight when its connection breaks fails, is not repeated, and the next one passes at once', async () => {
    const ingress = connectToAnswer(cluster.url) as Cluster
    ingress.on('error', () => {})
    try {
      await once(ingress, 'ready')
      const workspaceId = randomUUID()
      const admit = createAdmit({
        redis: ingress,
        prefix: service.redisPrefix,
        wake: wakesNobody,
        findStoredKey: async () => null,
      })
      const submit = () => admit(asked({ workspaceId }))
      await submit()
      const { state } = workspaceKeys(service.redisPrefix, workspaceId)
      const { port, redis } = await cluster.holderOf(state)
      const id = await ingress
        .nodes('master')
        .find(({ options }) => options.port === port)!
        .client('ID')
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
    } finally {
      ingress.disconnect()
    }
  })

  it('a purge leaves no byte on any node', async () => {
    const mark = `canary${randomBytes(4).toString('hex')}`
    const texts = { description: `${mark} dark mode`, title: mark, sourceData: { [mark]: mark } }
    const contact = { id: mark, properties: { $email: `${mark}@example.com`, $name: mark, [mark]: mark } }
    await holdWork(service.queues)
    await accepted('/contacts/identify', contact)
    await accepted('/feedbacks', { ...texts, contact: { email: `${mark}@example.com` } }, { 'Idempotency-Key': mark })
    const messages = [{ id: mark, incoming: true, contactId: mark, content: mark, createdAt: AT }]
    await accepted('/conversations', { id: mark, source: 'chat', createdAt: AT, contacts: [contact], messages })
    assert.ok((await findMark(cluster, mark)).length > 0, 'the canary is found while it is queued')
    assert.ok((await findTraces(service, [mark])).length > 0, 'and by what operators search with')
    const purged = accepted('/contacts/purge', { id: mark })
    await resumeWork(service.queues)
    await purged
    await until('all is settled', async () => (await readLedger(service)).queued === 0)
    await until('the purge is finished', async () => (await service.sql`select from purge`).count === 0)
    assert.deepEqual(await findMark(cluster, mark), [])
    const output = (): string => service.output() + outputs.map((of) => of()).join('')
    assert.deepEqual(await findTraces({ ...service, output }, [mark]), [])
    const verified = await runCommand(service, 'cli/purge/verify-command.ts', '--text', mark)
    assert.deepEqual([verified.code, verified.stderr], [0, ''])
  })

  it('a deleted workspace leaves no key on any node', () => deleteOneOf(service))

  it('doctor looks at each node, and the operators’ pages answer', async () => {
    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    for (const { port } of cluster.nodes)
      assert.match(stdout, new RegExp(`^well +127.0.0.1:${port}: Redis evicts`, 'm'))
    for (const path of ['/readyz', '/metrics', '/admin/queues']) {
      const { status } = await service.request(path, undefined, { method: 'GET', token: service.adminToken })
      assert.equal(status, 200, path)
    }
  })
})

/** Keys of each node with a string in their name or their value, found by asking the nodes themselves. */
const findMark = async (cluster: RedisCluster, mark: string): Promise<string[]> =>
  (await Promise.all(cluster.nodes.map(({ redis }) => keysWith(redis, mark)))).flat()

const keysWith = async (redis: Redis, mark: string): Promise<string[]> => {
  const keys = await redis.keys('*')
  const held = await Promise.all(
    keys.map(async (key) => key.includes(mark) || JSON.stringify(await valueOf(redis, key)).includes(mark)),
  )
  return keys.filter((_, index) => held[index])
}

const valueOf = async (redis: Redis, key: string): Promise<unknown> => {
  switch (await redis.type(key)) {
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return redis.smembers(key)
    case 'zset':
      return redis.zrange(key, '0', '-1')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return redis.get(key)
  }
}

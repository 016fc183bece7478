import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { admissionKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { freeze } from '../support/fault-stack.ts'
import { readLedgers } from '../support/ledgers.ts'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { ANSWERED_WITHIN_MS, assertWellAnswered, damage, recovery } from '../support/recovery.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startRedisSentinel } from '../support/redis-sentinel.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const environment = { CONVERSATIONS_PER_MINUTE: '1000000', REDIS_REPLICAS_ACK: '1' }

type Rig = {
  url: string
  /** Kills the master that has a key; resolves when its replica has taken over. */
  failOver: (key: string) => Promise<void>
  /** Starts the former master again. */
  bringBack: () => Promise<void>
  replicaPid?: number
  stop: () => Promise<void>
}

const RIGS: Readonly<Record<string, () => Promise<Rig>>> = {
  'a Redis with a replica and a sentinel': startRedisSentinel,
  'a Redis Cluster of three masters with a replica each': async () => {
    const { nodes, ...cluster } = await startRedisCluster({ replicas: 1 })
    let former = nodes[0]!
    return {
      ...cluster,
      failOver: async (key) => {
        former = await cluster.holderOf(key)
        await former.kill()
        const replica = nodes[nodes.indexOf(former) + 3]!
        await until('its replica is a master', async () =>
          (await replica.redis.info('replication')).includes('role:master'),
        )
      },
      bringBack: () => former.start(),
    }
  },
}

for (const [title, start] of Object.entries(RIGS)) {
  describe(`${title}, and submissions that are confirmed when one replica has them`, () => {
    let rig: Rig
    let service: Service
    before(async () => {
      rig = await start()
      service = await startService({ apis: 2, redisUrl: rig.url, environment })
    })
    after(async () => {
      await service.stop()
      await rig.stop()
    })
    const stack = () => ({ ...service, url: service.urls[0]!, prefix: service.redisPrefix })

    const hasOneReplica = start === startRedisSentinel
    if (hasOneReplica)
      it('confirms nothing while no replica answers, and a repeated one once it does', async () => {
        const feedback = { description: 'once' }
        const headers = { 'Idempotency-Key': 'once' }
        const goOn = freeze({ pid: () => rig.replicaPid! })
        try {
          // The second API has written nothing that it could wait for, but for what the repeated one writes.
          for (const api of [0, 1]) {
            const { status, text, headers: said } = await service.post('/feedbacks', feedback, { headers, api })
            assert.equal(status, 503, text)
            assert.match(text, /Too few copies/)
            assert.ok(Number(said.get('Retry-After')) > 0)
          }
        } finally {
          goOn()
        }
        let id: string | null = null
        await until('it is confirmed', async () => {
          const answer = await service.post('/feedbacks', feedback, { headers })
          id = answer.headers.get('Submission-Id')
          return answer.status === 201
        })
        await until(
          'it is stored',
          async () => (await service.sql`select from submission where id = ${id}`).count === 1,
        )
        const stored = await service.sql`select from feedback where description = 'once'`
        assert.equal(stored.count, 1)
      })

    it('the doctor tells how many replicas there are, and what would keep out what they do not have', async () => {
      const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
      assert.match(stdout, /warning .*Redis has 1 of 1 replicas that REDIS_REPLICAS_ACK asks for, and takes in/)
      assert.match(stdout, /min-replicas-to-write 1/)
    })

    it('loses nothing that was confirmed when the master dies under load', async () => {
      // What waits exists in Redis alone.
      await Promise.all(Object.values(service.queues).map((queue) => queue.pause()))
      const load = startLoad(stack())
      await moreIsAccepted(load)
      await rig.failOver(admissionKeys(service.redisPrefix, service.workspaceId).ledger)
      const confirmed = load.seen.accepted.size
      await until('more is asked', () => Promise.resolve(load.seen.refused > 0))
      assert.ok(load.seen.accepted.size <= confirmed + 4, 'confirmed without a replica')
      await rig.bringBack()
      await moreIsAccepted(load)
      await load.stop()
      await Promise.all(Object.values(service.queues).map((queue) => queue.resume()))
      const ms = await recovery(stack(), load.seen)
      const { accepted, refused, unknown, slowestMs } = load.seen
      console.log(
        `${accepted.size} confirmed around the failover, 0 lost, ${refused} refused, slowest ${Math.round(slowestMs)} ms, ` +
          `all applied after ${(ms / 1_000).toFixed(1)} s`,
      )
      assertWellAnswered(load.seen)
      assert.ok(slowestMs < ANSWERED_WITHIN_MS, `${Math.round(slowestMs)} ms`)
      assert.deepEqual(await damage(service.sql, load.seen), { lost: 0, doubled: 0 })
      const [ledger] = await readLedgers(service.sql, service.redis, service.redisPrefix)
      assert.ok(Math.abs(ledger!.difference) <= refused + unknown, JSON.stringify(ledger))
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { workspaceKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { freeze } from '../support/kept-process.ts'
import { outlive } from '../support/outlive.ts'
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
      assert.match(
        stdout,
        /warning .*Redis has 1 of 1 replicas that REDIS_REPLICAS_ACK asks for, and takes what they do not have/,
      )
      assert.match(stdout, /min-replicas-to-write 1/)
    })

    it('loses nothing that was confirmed when the master dies: it is stored as the model has it', async () => {
      await service.queues.tagging.pause()
      // Until the former master is back, Redis alone has what is confirmed.
      await holdWork(service.queues)
      const strike = async (): Promise<void> => {
        await rig.failOver(workspaceKeys(service.redisPrefix, service.workspaceId).state)
        await rig.bringBack()
        await resumeWork(service.queues)
      }
      const { size } = await outlive(service, { strike, purges: false })
      console.log(`${size} confirmed around the failover`)
    })
  })
}

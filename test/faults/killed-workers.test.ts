import { after, before, describe, it } from 'node:test'
import { outliveKiller, outliveKills, SUBMISSIONS_AMONG_KILLS } from '../support/often-killed.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'

const ON = {
  'one Redis': undefined,
  'a Redis Cluster': startRedisCluster,
} as const satisfies Record<string, (() => Promise<RedisCluster>) | undefined>

for (const [redis, start] of Object.entries(ON))
  describe(`three workers at ${redis}, of which one is killed every 1.5 s`, () => {
    let cluster: RedisCluster | undefined
    let service: Service
    before(async () => {
      cluster = await start?.()
      const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
      service = await startService({ workers: 0, apis: 2, environment, ...(cluster && { redisUrl: cluster.url }) })
      // Generated tags depend on the order of texts.
      await service.queues.tagging.pause()
    })
    after(async () => {
      await service?.stop()
      await cluster?.stop()
    })

    it(`lose nothing: ${SUBMISSIONS_AMONG_KILLS} submissions are stored as the model has them`, () =>
      outliveKills(service))

    it('set aside the one submission that kills each worker that saves it, and store all others as the model has them', () =>
      outliveKiller(service))
  })

import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { outliveKiller, outliveKills, SUBMISSIONS_AMONG_KILLS } from '../support/often-killed.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'

describe('on a Redis Cluster, workers of which one is killed every 1.5 s', () => {
  let cluster: RedisCluster
  before(async () => {
    cluster = await startRedisCluster()
  })
  after(() => cluster.stop())

  const withService = async (work: (service: Service) => Promise<void>): Promise<void> => {
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    const service = await startService({ workers: 0, apis: 2, redisUrl: cluster.url, environment })
    try {
      await work(service)
    } finally {
      await service.stop()
    }
  }

  it(`lose nothing and change nothing: ${SUBMISSIONS_AMONG_KILLS} submissions are stored as one clerk would have`, () =>
    withService(outliveKills))

  const isLong = process.env['TEST_SIZE'] === 'long'
  it(
    'end a submission dead that kills those that store it, and store all others as one clerk would have',
    {
      skip: !isLong,
    },
    () => withService(outliveKiller),
  )
})

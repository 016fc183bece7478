import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { countSilentWorkers } from '../../health/silent-workers.ts'
import { connectForCommand, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { testServers } from '../support/servers.ts'

// test/faults/clean-stop.test.ts tests that a frozen worker is counted.
describe('silent workers', () => {
  const user = `t_${randomBytes(6).toString('hex')}`
  let redis: RedisClient
  before(async () => {
    redis = await connectForCommand(testServers().redisUrl)
    await redis.call('ACL', 'SETUSER', user, 'on', `>${user}`, '~*', '+@all', '-client|list')
  })
  after(async () => {
    await redis.call('ACL', 'DELUSER', user)
    redis.disconnect()
  })

  it('are none while no worker of this installation is connected', async () => {
    assert.equal(await countSilentWorkers(redis, randomUUID(), Promise.resolve([])), 0)
  })

  it('are unknown if Redis does not list its connections', async () => {
    const url = new URL(testServers().redisUrl)
    Object.assign(url, { username: user, password: user })
    const limited = await connectForCommand(url.href)
    try {
      assert.equal(await countSilentWorkers(limited, 'feedback-insights', Promise.resolve([])), undefined)
    } finally {
      limited.disconnect()
    }
  })
})

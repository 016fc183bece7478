import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { connectForCommand, type RedisClient } from '../../queue/connect-redis.ts'
import { countSilent } from '../../queue/silent-workers.ts'
import { testServers } from '../support/servers.ts'

// That one is counted when it is frozen, test/end-to-end/worker-queues.test.ts shows.
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

  it('are none as long as nobody is connected by a name of theirs', async () => {
    assert.equal(await countSilent(redis, randomUUID(), Promise.resolve([])), 0)
  })

  it('are not known where Redis does not tell who is connected', async () => {
    const url = new URL(testServers().redisUrl)
    Object.assign(url, { username: user, password: user })
    const limited = await connectForCommand(url.href)
    try {
      assert.equal(await countSilent(limited, 'fbi', Promise.resolve([])), undefined)
    } finally {
      limited.disconnect()
    }
  })
})

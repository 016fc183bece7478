import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { checkRedis } from '../../../cli/doctor/check-redis.ts'
import { connectForCommand, type RedisClient } from '../../../queue/redis/connect-redis.ts'
import { whyNotThisRedis } from '../../../queue/redis/open-redis.ts'
import { type Between, standBetween } from '../../support/between.ts'
import { testServers } from '../../support/servers.ts'

const USER = 'without-config'
const HIDDEN = ['maxmemory_policy', 'aof_enabled']

/** Like a hosted server: CONFIG is refused, and INFO has fewer fields. */
describe('a Redis that does not show its policy', () => {
  let owner: RedisClient
  let between: Between
  let redis: RedisClient
  before(async () => {
    const { redisUrl } = testServers()
    owner = await connectForCommand(redisUrl)
    await owner.call('ACL', 'SETUSER', USER, 'on', '>password', '~*', '&*', '+@all', '-config')
    between = await standBetween(redisUrl, {
      answer: (bytes) => {
        for (const field of HIDDEN) {
          const at = bytes.indexOf(`\n${field}:`)
          if (at !== -1) bytes.write('x', at + 1)
        }
        return true
      },
    })
    const url = new URL(between.url)
    url.username = USER
    url.password = 'password'
    redis = await connectForCommand(url.href)
  })
  after(async () => {
    redis?.disconnect()
    between?.stop()
    await owner?.call('ACL', 'DELUSER', USER)
    owner?.disconnect()
  })

  it('is used, and the process logs that the policy is unknown', async () => {
    const logged: unknown[] = []
    assert.equal(await whyNotThisRedis(redis, (_level, event) => void logged.push(event)), undefined)
    assert.deepEqual(logged, ['redis_policy_unknown'])
  })

  it('gets a warning of the doctor, as do its other hidden settings', async () => {
    const findings = await checkRedis(redis, 0)
    const warnings = findings.filter(({ level }) => level === 'attention').map(({ what }) => what)
    for (const pattern of [
      /^Redis does not show its maxmemory-policy/,
      /^Redis does not show whether it has an append-only file/,
      /^Redis does not show whether it keeps snapshots/,
      /^Redis does not show whether it keeps a slow log/,
    ])
      assert.ok(
        warnings.some((text) => pattern.test(text)),
        `${pattern} is not in ${warnings.join('\n')}`,
      )
    assert.ok(findings.every(({ level }) => level !== 'trouble'))
  })
})

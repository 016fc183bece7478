import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readRedisUrl } from '../../runtime/redis-address.ts'

describe('a REDIS_URL', () => {
  it('of one server stays unchanged', () => {
    for (const url of ['redis://host', 'rediss://user:p%40ss@host:6380/2?family=6']) {
      assert.deepEqual(readRedisUrl(url), { kind: 'server', url })
    }
  })

  it('of a cluster has nodes, and a login without percent-encoding', () => {
    assert.deepEqual(readRedisUrl('redis+cluster://a:7000,b,[::1]:7002'), {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 6379 },
        { host: '::1', port: 7002 },
      ],
      access: { isEncrypted: false },
    })
    assert.deepEqual(readRedisUrl('rediss+cluster://user:p%40%2C@one.name.example/'), {
      kind: 'cluster',
      nodes: [{ host: 'one.name.example', port: 6379 }],
      access: { isEncrypted: true, username: 'user', password: 'p@,' },
    })
  })

  it('of sentinels has their addresses, the name of the master, and both logins', () => {
    assert.deepEqual(readRedisUrl('redis+sentinel://:secret@a,b:26380/main?sentinelPassword=other'), {
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      master: 'main',
      access: { isEncrypted: false, password: 'secret', sentinelPassword: 'other' },
    })
  })

  it('of another form is refused', () => {
    for (const text of [
      '',
      'host:6379',
      'http://host',
      'redis+cluster://',
      'redis+cluster://a:70000',
      'redis+cluster://a,,b',
      'redis+cluster://a/0',
      'redis+cluster://a?sentinelPassword=x',
      'redis+sentinel://a',
      'redis+sentinel://a/',
      'redis+sentinel://user:%@a/main',
      'redis+other://a',
    ]) {
      assert.equal(readRedisUrl(text), undefined, text)
    }
  })
})

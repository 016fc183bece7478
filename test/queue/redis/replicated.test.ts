import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { createAdmit } from '../../../queue/admission/admit.ts'
import type { Admit } from '../../../queue/admission/call-admit.ts'
import { connectToAnswer, type RedisClient } from '../../../queue/redis/connect-redis.ts'
import { freeze } from '../../support/kept-process.ts'
import { requestFor, noWake, UNUSED } from '../../support/queue-room.ts'
import { type RedisSentinel, startRedisSentinel } from '../../support/redis-sentinel.ts'
import { until } from '../../support/until.ts'

/** This many waits for the replica, one after the other, exceed the timeout of a command. */
const WORKSPACES = 12

describe('an admission that waits for a replica', () => {
  let pair: RedisSentinel
  let redis: RedisClient
  before(async () => {
    pair = await startRedisSentinel()
    redis = connectToAnswer(pair.url)
    redis.on('error', () => {})
    await once(redis, 'ready')
  })
  after(async () => {
    redis.disconnect()
    await pair.stop()
  })

  const createAdmitByPair = (): Admit =>
    createAdmit({
      redis,
      prefix: randomUUID(),
      wake: noWake,
      findStoredKey: async () => UNUSED,
      replicas: 1,
    })

  it('is answered in time when the replica is away, even if admissions of many workspaces wait', async () => {
    const admit = createAdmitByPair()
    const goOn = freeze({ pid: () => pair.replicaPid })
    try {
      const workspaceIds = Array.from({ length: WORKSPACES }, () => randomUUID())
      const admissions = await Promise.all(workspaceIds.map((workspaceId) => admit(requestFor({ workspaceId }))))
      assert.deepEqual(
        admissions.map(({ outcome }) => outcome),
        workspaceIds.map(() => 'unreplicated'),
      )
    } finally {
      goOn()
    }
  })

  it('waits for the replica even if the server has forgotten the script, like a new master', async () => {
    const workspaceId = randomUUID()
    const admit = createAdmitByPair()
    await until(
      'the replica confirms in time',
      async () => (await admit(requestFor({ workspaceId }))).outcome === 'admitted',
    )
    await redis.script('FLUSH')
    // Otherwise a WAIT that does not cover the next admission would fail as well.
    await until('the master knows that the replica has all writes', async () => {
      const info = await redis.info('replication')
      return /master_repl_offset:(\d+)/.exec(info)?.[1] === /slave0:.*,offset=(\d+)/.exec(info)?.[1]
    })
    const goOn = freeze({ pid: () => pair.replicaPid })
    try {
      assert.equal((await admit(requestFor({ workspaceId }))).outcome, 'unreplicated')
    } finally {
      goOn()
    }
  })
})

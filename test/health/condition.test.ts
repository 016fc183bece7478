import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { QUEUE_NAMES } from '../../contract/jobs.ts'
import { Redis } from 'ioredis'
import { type Condition, createReadCondition } from '../../health/condition.ts'
import { createMetrics } from '../../api/operators/metrics.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/jobs/job-queues.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { createKnownWorkspaces, type ListKnownWorkspaces } from '../../db/workspaces/workspaces.ts'
import { connectToAnswer, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { testServers } from '../support/servers.ts'

const WORKSPACE = { id: randomUUID(), name: 'acme', createdAt: new Date(), isBeingDeleted: false }
/** An address without a listener. */
const NOWHERE = '127.0.0.1:1'

describe('the condition', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const { databaseUrl, redisUrl } = testServers()
  const open: (() => unknown)[] = []
  const postgresAt = (url: string): Sql => {
    const sql = connectPostgres(url, { connections: 1, statementTimeoutMs: 5_000, applicationName: 'test' })
    open.push(() => sql.end({ timeout: 1 }))
    return sql
  }
  const queuesOf = (redis: RedisClient): JobQueues => {
    const queues = openQueues(redis, prefix)
    open.push(() => closeQueues(queues))
    return queues
  }
  let redis: Redis
  before(() => {
    redis = new Redis(redisUrl)
  })
  after(async () => {
    for (const close of open) await close()
    redis.disconnect()
  })

  const read = (
    sql: Sql,
    client: RedisClient,
    listWorkspaces: ListKnownWorkspaces = async () => [WORKSPACE],
  ): Promise<Condition> =>
    createReadCondition({ sql, redis: client, prefix, queues: Object.values(queuesOf(client)), listWorkspaces })()
  const rendered = (condition: Condition): Promise<string> => {
    const loopDelay = { current: () => ({ median: 0, p99: 0, max: 0 }), stop: () => {} }
    return createMetrics(async () => condition, {
      loopDelay,
      bodies: () => ({ bytes: 0, mostBytes: 0, refused: 0 }),
    }).render()
  }

  it('has the facts of Redis while Postgres is away, and so do the metrics', async () => {
    const condition = await read(postgresAt(`postgres://${NOWHERE}/none`), redis)
    assert.equal(condition.queues?.length, QUEUE_NAMES.length)
    assert.ok((condition.redis?.usedBytes ?? 0) > 0)
    assert.deepEqual(condition.processes, [])
    assert.deepEqual(condition.logs, [
      { workspaceId: WORKSPACE.id, accepted: 0, queued: 0, oldestNumber: null, bytes: 0 },
    ])
    for (const key of ['postgresSeconds', 'purges', 'ledgers'] as const) assert.ok(!(key in condition), key)
    const text = await rendered(condition)
    assert.match(text, /^feedback_insights_up\{server="postgres"\} 0$/m)
    assert.match(text, /^feedback_insights_up\{server="redis"\} 1$/m)
    assert.doesNotMatch(text, /undefined|NaN/)
  })

  it('has no figures of workspaces if Postgres has never listed them', async () => {
    const away = postgresAt(`postgres://${NOWHERE}/none`)
    const condition = await read(away, redis, createKnownWorkspaces(away, 1_000))
    for (const key of ['workspaces', 'logs', 'ledgers'] as const) assert.ok(!(key in condition), key)
  })

  it('has the answer time of Postgres while Redis is away, and the metrics show both', async () => {
    const away = connectToAnswer(`redis://${NOWHERE}`)
    away.on('error', () => {})
    open.push(() => away.disconnect())
    const condition = await read(postgresAt(databaseUrl), away)
    assert.ok((condition.postgresSeconds ?? 0) > 0)
    for (const key of ['redis', 'queues', 'processes', 'ledgers'] as const) assert.ok(!(key in condition), key)
    const text = await rendered(condition)
    assert.match(text, /^feedback_insights_up\{server="redis"\} 0$/m)
    assert.match(text, /^feedback_insights_up\{server="postgres"\} 1$/m)
  })
})

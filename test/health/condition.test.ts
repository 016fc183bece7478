import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { QUEUE_NAMES } from '../../contract/jobs.ts'
import { Redis } from 'ioredis'
import { type Condition, createReadCondition } from '../../health/condition.ts'
import { createMetrics } from '../../api/operators/metrics.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/jobs/job-queues.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { connectToAnswer, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { createAdmit } from '../../queue/admission/admit.ts'
import { entered, noWake, requestFor } from '../support/queue-room.ts'
import { testServers } from '../support/servers.ts'
import { removeKeys } from '../support/service.ts'

const WORKSPACE = randomUUID()
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
    await removeKeys(redis, prefix)
    for (const close of open) await close()
    redis.disconnect()
  })

  const read = (sql: Sql, client: RedisClient): Promise<Condition> =>
    createReadCondition({ sql, redis: client, prefix, queues: Object.values(queuesOf(client)) })()
  const rendered = (condition: Condition): Promise<string> => {
    const loopDelay = { current: () => ({ median: 0, p99: 0, max: 0 }), stop: () => {} }
    return createMetrics(async () => condition, {
      loopDelay,
      bodies: () => ({ bytes: 0, mostBytes: 0, refused: 0 }),
    }).render()
  }

  it('has the facts of Redis while Postgres is away, and so do the metrics', async () => {
    const admit = createAdmit({ redis, prefix, wake: noWake, findStoredKey: async () => ({ state: 'unused' }) })
    const { number } = entered(await admit(requestFor({ workspaceId: WORKSPACE })))
    const condition = await read(postgresAt(`postgres://${NOWHERE}/none`), redis)
    assert.equal(condition.queues?.length, QUEUE_NAMES.length)
    assert.ok((condition.redis?.usedBytes ?? 0) > 0)
    assert.deepEqual(condition.processes, [])
    const [log, ...others] = condition.logs!
    assert.ok(log && log.bytes > 0 && others.length === 0)
    assert.deepEqual(log, { ...log, workspaceId: WORKSPACE, accepted: 1, queued: 1, oldestNumber: number })
    for (const key of ['postgresSeconds', 'purges', 'workspaces', 'ledgers'] as const)
      assert.ok(!(key in condition), key)
    const text = await rendered(condition)
    assert.match(text, /^feedback_insights_up\{server="postgres"\} 0$/m)
    assert.match(text, /^feedback_insights_up\{server="redis"\} 1$/m)
    assert.doesNotMatch(text, /undefined|NaN/)
  })

  it('has the ledgers of a thousand workspaces in the metrics, those with a difference first', async () => {
    const idle = { accepted: 9, queued: 0, oldestNumber: null, bytes: 0, applied: 9, superseded: 0, purged: 0, dead: 0 }
    const ledgers = Array.from({ length: 1_100 }, (_, n) => ({
      ...idle,
      workspaceId: `w${n}`,
      difference: n === 1_050 ? 1 : 0,
      dead: n === 1_060 ? 1 : 0,
    }))
    const text = await rendered({ at: 1, ledgers })
    assert.equal(text.match(/^feedback_insights_ledger_difference\{/gm)?.length, 1_000)
    assert.match(text, /^feedback_insights_ledger_difference\{workspace="w1050"\} 1$/m)
    assert.match(text, /^feedback_insights_ledger\{workspace="w1060",state="dead"\} 1$/m)
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

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createAdmit } from '../../queue/admit.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createWake } from '../../queue/wake.ts'
import { feedbackBody } from '../support/below-the-ingress.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger } from '../support/ledgers.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

type Own = Awaited<ReturnType<typeof ownWorkspace<Service>>>
type Kept = readonly { key: string; value: Buffer }[]

/** Microseconds of an hour by which Postgres is ahead of the clock of Redis. */
const AHEAD = 3_600_000_000

// A replica that takes over has what its master had some moments before. Here the keys of one workspace go back by themselves.
describe('a Redis that fails over to a replica that is behind', () => {
  let service: Service
  before(async () => {
    service = await startService({ apis: 1, workers: 2 })
  })
  after(() => service?.stop())

  const keep = async ({ redis, redisPrefix, workspaceId }: Own): Promise<Kept> => {
    const keys = await redis.keys(workspaceKeys(redisPrefix, workspaceId).every)
    return Promise.all(keys.map(async (key) => ({ key, value: await redis.dumpBuffer(key) })))
  }
  const goBack = async ({ redis, redisPrefix, workspaceId }: Own, kept: Kept): Promise<void> => {
    const now = await redis.keys(workspaceKeys(redisPrefix, workspaceId).every)
    await Promise.all(now.map((key) => redis.del(key)))
    await Promise.all(kept.map(({ key, value }) => redis.restore(key, 0, value, 'REPLACE')))
  }
  const wake = async ({ queues, workspaceId }: Own): Promise<void> => {
    const waking = createWake({ queues })
    await waking.wake(workspaceId, { submissions: 1, isDeep: false })
    await waking.ended()
  }
  const idle = (own: Own) => until('nothing is queued', async () => (await readLedger(own)).queued === 0)
  const say = (own: Own, sourceId: string, description: string) =>
    own.post('/feedbacks', { source: 'desk', sourceId, description })
  const stored = async ({ sql, workspaceId }: Own): Promise<string[]> => {
    const rows = await sql<{ text: string }[]>`
      select source_id || ' ' || description as text from feedback where workspace_id = ${workspaceId}`
    return rows.map(({ text }) => text).toSorted()
  }
  const positionOf = async ({ sql, workspaceId }: Own): Promise<number> => {
    const [row] = await sql<[{ position: string }]>`
      select applied_number as position from workspace_progress where workspace_id = ${workspaceId}`
    return Number(row.position)
  }

  it('applies nothing twice when the trim of what was applied is lost', async () => {
    const own = await ownWorkspace(service)
    await holdWork(service.queues)
    await say(own, 'one', 'first')
    await say(own, 'one', 'second')
    const kept = await keep(own)
    await resumeWork(service.queues)
    await idle(own)
    await own.submit('/feedbacks', { source: 'desk', sourceId: 'one', description: 'third' })
    const position = await positionOf(own)
    await goBack(own, kept)
    await wake(own)
    await idle(own)
    assert.deepEqual(await stored(own), ['one third'])
    assert.equal(await positionOf(own), position)
    const receipts = await own.sql`
      select from submission where workspace_id = ${own.workspaceId} and state = 'applied' and attempts = 1`
    assert.equal(receipts.count, 3)
  })

  it('gives no number again when the numbers are lost: what is accepted then has higher ones and is applied', async () => {
    const own = await ownWorkspace(service)
    await own.submit('/feedbacks', { source: 'desk', sourceId: 'one', description: 'before' })
    const kept = await keep(own)
    for (const text of ['lost 1', 'lost 2'])
      await own.submit('/feedbacks', { source: 'desk', sourceId: 'one', description: text })
    const position = await positionOf(own)
    await goBack(own, kept)
    const answer = await own.submit('/feedbacks', { source: 'desk', sourceId: 'one', description: 'after' })
    assert.deepEqual(await stored(own), ['one after'])
    const [row] = await own.sql<[{ number: string }]>`
      select acceptance_number as number from submission where id = ${answer.headers.get('Submission-Id')}`
    assert.ok(Number(row.number) > position)
  })

  it('appends again what it admitted with a number that Postgres is past already, and applies it once', async () => {
    const own = await ownWorkspace(service)
    const { redis, redisPrefix: prefix, workspaceId, sql, queues } = own
    await own.submit('/feedbacks', { source: 'desk', sourceId: 'one', description: 'before' })
    await sql`
      update workspace_progress set applied_number = applied_number + ${AHEAD}::bigint where workspace_id = ${workspaceId}`
    // The floor of this admission is from before the failover.
    const waking = createWake({ queues })
    const admit = createAdmit({ redis, prefix, wake: waking, floorOf: async () => 0, findStoredKey: async () => null })
    const bodies = ['after 1', 'after 2'].map((text) => feedbackBody(text, { source: 'desk', sourceId: randomUUID() }))
    const admissions = await Promise.all(
      bodies.map((body) => admit({ workspaceId, operation: 'create_feedback', bodyText: JSON.stringify(body) })),
    )
    const ids = admissions.map((admission) => (admission.outcome === 'admitted' ? admission.submissionId : ''))
    await waking.ended()
    await until('both are applied', async () => {
      const rows = await sql`select from submission where id = any (${ids}::uuid[]) and state = 'applied'`
      return rows.count === 2
    })
    await idle(own)
    const texts = await sql<{ description: string }[]>`
      select description from feedback where workspace_id = ${workspaceId} order by number`
    assert.deepEqual(
      texts.map(({ description }) => description),
      ['before', 'after 1', 'after 2'],
    )
    const { difference, dead } = await readLedger(own)
    assert.deepEqual({ difference, dead }, { difference: 0, dead: 0 })
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { JOB_VERSION } from '../../contract/job.ts'
import type { Ledger } from '../../contract/ledger.ts'
import { feedbackId } from '../../contract/stored-feedback.ts'
import { type Rows, store } from '../../db/store.ts'
import { describeFault, isPermanentFault } from '../../process/fault.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { handingOverIn } from '../../queue/hand-over.ts'
import { rowsOf, type StoredJob } from '../../worker/rows/rows.ts'
import { storeHalving } from '../../worker/store-halving.ts'
import { feedbackBody, inject } from '../support/below-the-ingress.ts'
import { readLedgers } from '../support/ledgers.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startCrew } from '../support/worker-crew.ts'

const BATCH = 500
const BAD = 217
/** All together, both halves of what had the bad one, and so on until it is alone. */
const MOST_STATEMENTS = 1 + 2 * Math.ceil(Math.log2(BATCH))
const NEIGHBOURS = 20
/** Of its worker: in a batch, then alone in its job, then with nothing beside it (worker/suspects.ts), and some that were not counted. */
const MOST_DEATHS = 10
const GIVEN_UP_WITHIN_MS = 120_000

describe('a bad submission', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service.stop())

  const readLedger = async (): Promise<Ledger> => {
    const [ledger] = await readLedgers(service.sql, service.redis, service.redisPrefix)
    return ledger!
  }
  const startWorker = (deadly: { deadlyText?: string; afterDeath?: () => Promise<void> } = {}) =>
    startCrew({ size: 1, environment: service.environment, ...deadly })
  const textOf = (index: number): string => (index === BAD ? 'bad \u0000' : `good ${index}`)
  /** As the API admits what comes together, but for its checks: in batches of up to a hundred. */
  const admitTogether = async (bodies: readonly object[]): Promise<string[]> => {
    const { redis, redisPrefix: prefix, queues, workspaceId } = service
    const handOver = handingOverIn({ redis, prefix, queues })
    const admit = admissionsIn({ redis, prefix, handOver, findStoredKey: async () => null })
    const saidBy = () => ({ sayings: { newIds: [], aboutKeys: [] }, lookUp: [] })
    const admissions = await Promise.all(
      bodies.map((body) =>
        admit({ workspaceId, operation: 'create_feedback', bodyText: JSON.stringify(body), saidBy }),
      ),
    )
    return admissions.map((admission) => {
      assert.ok(admission.outcome === 'admitted')
      return admission.submissionId
    })
  }

  it(`is found by halving in a batch of ${BATCH}, whose others are all stored`, async () => {
    const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
    const { workspaceId, sql } = service
    const batch = Array.from({ length: BATCH }, (_, index): Rows => {
      const job = {
        version: JOB_VERSION,
        operation: 'create_feedback',
        workspaceId,
        submissionId: randomUUID(),
        number: index + 1,
        body: feedbackBody(`alone ${textOf(index)}`),
      } as StoredJob
      return rowsOf(hashKey, job, 1)
    })
    let statements = 0
    const outcomes = await storeHalving<Rows, string>(batch, {
      store: async (rows) => {
        statements++
        await store(sql, rows)
        return rows.map(() => 'stored')
      },
      isOver: (error) => !isPermanentFault(error),
      alone: async (_, error) => describeFault(error),
      leftOut: () => undefined,
    })
    const expected = batch.map((_, index) => (index === BAD ? 'PostgresError 22P05' : 'stored'))
    assert.deepEqual(outcomes, expected)
    assert.ok(statements <= MOST_STATEMENTS, `${statements} statements`)
    const stored = await sql`select from feedback where description like 'alone good %'`
    assert.equal(stored.count, BATCH - 1)
  })

  it(`among ${BATCH} queued ones ends dead with its reason; the others are applied at the first attempt`, async () => {
    const ids = await admitTogether(Array.from({ length: BATCH }, (_, index) => feedbackBody(textOf(index))))
    const crew = await startWorker()
    await until('all are settled', async () => {
      const ledger = await readLedger()
      return ledger.queued === 0 && ledger.dead === 1
    })
    const rows = await service.sql<{ id: string; state: string; attempts: number; error: string | null }[]>`
      select id, state, attempts, error from submission where id = any (${ids})`
    assert.equal(rows.length, BATCH)
    const bad = rows.filter(({ state, attempts }) => state !== 'applied' || attempts !== 1)
    assert.deepEqual(
      bad.map((row) => ({ ...row })),
      [{ id: ids[BAD], state: 'dead', attempts: 1, error: 'PostgresError 22P05' }],
    )
    await crew.stop()
    const said = (event: string): number => crew.output().split(`"event":"${event}"`).length - 1
    assert.deepEqual([said('submission_dead'), said('job_failed')], [1, 0])
  })

  /** As if the time were over after which the jobs of a killed worker are taken for abandoned. */
  const hasten = async (): Promise<void> => {
    const { redis, queues } = service
    const { submissions } = queues
    const active = (await submissions.getActive()).map((job: Job) => job.id!)
    await redis.del(submissions.toKey('stalled-check'), ...active.map((id) => `${submissions.toKey(id)}:lock`))
    if (active.length > 0) await redis.sadd(submissions.toKey('stalled'), ...active)
  }

  it('that kills its worker again and again ends dead, and of those that share its batch all are stored', async () => {
    // Those of the first test were stored without having been accepted.
    const { difference } = await readLedger()
    const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
    const { workspaceId } = service
    const record = { source: 'desk', sourceId: randomUUID(), isExternalContactId: false, isExternalAccountId: false }
    const deadly = { description: 'deadly', ...record }
    // Its row has this id, and what is set aside has not.
    const deadlyText = feedbackId({ hashKey, workspaceId, submissionId: '' }, deadly)
    const neighbours = (name: string): object[] =>
      Array.from({ length: NEIGHBOURS / 2 }, (_, index) => feedbackBody(`${name} ${index}`))
    const ids = await admitTogether([...neighbours('before'), deadly, ...neighbours('after')])
    const { submissionId: lone } = await inject(service, service.queues, {
      body: feedbackBody('in a batch of its own'),
    })
    const killer = ids[NEIGHBOURS / 2]!
    const crew = await startWorker({ deadlyText, afterDeath: hasten })
    const row = await until(
      'it is dead',
      async () => {
        const [found] = await service.sql`select state, error from submission where id = ${killer}`
        return found
      },
      GIVEN_UP_WITHIN_MS,
    )
    assert.deepEqual({ ...row }, { state: 'dead', error: 'GivenUp stalled' })
    await service.submit('/feedbacks', { description: 'after it' })
    await until('the ledger is exact', async () => {
      const ledger = await readLedger()
      return ledger.queued === 0 && ledger.difference === difference
    })
    await crew.stop()
    const deaths = crew.deaths().ofText
    console.log(`${deaths} workers died of it`)
    assert.ok(deaths <= MOST_DEATHS)
    assert.equal(await service.queues.submissions.getFailedCount(), 0, 'it is in nobody’s way')
    const stored = await service.sql`select from submission where id = any (${[...ids, lone]}) and state = 'applied'`
    assert.equal(stored.count, NEIGHBOURS + 1)
    const [dead] = await service.sql`select job from dead_submission where id = ${killer}`
    assert.equal(JSON.parse(dead!['job']).body.description, 'deadly')
  })
})

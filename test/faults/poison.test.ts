import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { feedbackId } from '../../contract/stored-feedback.ts'
import { createAdmit } from '../../queue/admit.ts'
import { createWake } from '../../queue/wake.ts'
import { feedbackBody } from '../support/below-the-ingress.ts'
import { readLedger } from '../support/ledgers.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startCrew } from '../support/worker-crew.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const MANY = Number(process.env['AMONG'] ?? (LONG ? 10_000 : 500))
/** Records that are replaced again and again: what is stored at last shows the order. */
const RECORDS = 20
const FEW = 20
/** Each death halves the stride, and the last ones happen alone in quarantine. */
const MOST_DEATHS = 20
const SETTLED_WITHIN_MS = 300_000

type Own = Awaited<ReturnType<typeof ownWorkspace<Service>>>

describe('a bad submission', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service?.stop())

  const startWorker = (deadlyText?: string) =>
    startCrew({ size: 1, environment: service.environment, ...(deadlyText !== undefined && { deadlyText }) })
  /** Admits as the API does, without its checks. */
  const admitAll = async ({ workspaceId }: Own, bodies: readonly object[]): Promise<string[]> => {
    const { redis, redisPrefix: prefix, queues } = service
    const wake = createWake({ queues })
    const admit = createAdmit({ redis, prefix, wake, findStoredKey: async () => null })
    const ids: string[] = []
    // One turn of the event loop is one entry of the log.
    for (const together of chunksOf(bodies, 100)) {
      const admissions = await Promise.all(
        together.map((body) => admit({ workspaceId, operation: 'create_feedback', bodyText: JSON.stringify(body) })),
      )
      for (const admission of admissions) {
        assert.ok(admission.outcome === 'admitted')
        ids.push(admission.submissionId)
      }
    }
    await wake.ended()
    return ids
  }
  const settled = async (own: Own, dead: number): Promise<void> => {
    await until('all is settled', async () => (await readLedger(own)).queued === 0, SETTLED_WITHIN_MS)
    const ledger = await readLedger(own)
    assert.deepEqual([ledger.difference, ledger.dead], [0, dead])
  }
  type Receipt = { id: string; state: string; attempts: number; error: string | null }
  const notApplied = async ({ sql, workspaceId }: Own, total: number): Promise<Receipt[]> => {
    const rows = await sql<Receipt[]>`
      select id, state, attempts, error from submission where workspace_id = ${workspaceId}`
    assert.equal(rows.length, total)
    return rows.filter(({ state, attempts }) => state !== 'applied' || attempts !== 1).map((row) => ({ ...row }))
  }

  it(`among ${MANY} of its workspace ends dead with its reason; the others are applied in order, at the first attempt`, async () => {
    const own = await ownWorkspace(service)
    const bad = Math.floor(MANY * 0.43)
    const bodies = Array.from({ length: MANY }, (_, index) =>
      feedbackBody(index === bad ? 'bad \u0000' : `number ${index}`, {
        source: 'desk',
        // A later submission of the same stride would replace it before Postgres sees it.
        sourceId: index === bad ? 'bad record' : `record ${index % RECORDS}`,
      }),
    )
    const ids = await admitAll(own, bodies)
    const crew = await startWorker()
    await settled(own, 1)
    assert.deepEqual(await notApplied(own, MANY), [
      { id: ids[bad], state: 'dead', attempts: 1, error: 'PostgresError 22P05' },
    ])
    const stored = await own.sql<{ description: string }[]>`
      select description from feedback where workspace_id = ${own.workspaceId}`
    const last = Array.from({ length: RECORDS }, (_, index) => `number ${MANY - RECORDS + index}`)
    assert.deepEqual(stored.map(({ description }) => description).toSorted(), last.toSorted())
    await crew.stop()
    const said = (event: string): number => crew.output().split(`"event":"${event}"`).length - 1
    assert.deepEqual([said('submission_dead'), said('job_failed')], [1, 0])
  })

  it('that kills its worker again and again ends dead; those before and after it are applied, and others do not notice', async () => {
    const [own, other] = [await ownWorkspace(service), await ownWorkspace(service)]
    const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
    const record = { source: 'desk', sourceId: randomUUID() }
    const deadly = feedbackBody('deadly', record)
    // The row of the record has this id. A submission that is set aside has not.
    const realm = { hashKey, workspaceId: own.workspaceId }
    const deadlyText = feedbackId({ ...realm, submissionId: '' }, deadly as Parameters<typeof feedbackId>[1])
    const neighbours = (name: string): object[] =>
      Array.from({ length: FEW / 2 }, (_, index) => feedbackBody(`${name} ${index}`))
    const ids = await admitAll(own, [...neighbours('before'), deadly, ...neighbours('after')])
    const killer = ids[FEW / 2]!
    await admitAll(other, neighbours('other'))
    const crew = await startWorker(deadlyText)
    await settled(own, 1)
    await settled(other, 0)
    assert.deepEqual(
      (await notApplied(own, FEW + 1)).map(({ id, state, error }) => ({ id, state, error })),
      [{ id: killer, state: 'dead', error: 'GivenUp stalled' }],
    )
    assert.equal(await own.settled(await own.post('/feedbacks', { description: 'after it' })), 'applied')
    await crew.stop()
    const deaths = crew.deaths().ofText
    console.log(`${deaths} workers died of it`)
    assert.ok(deaths <= MOST_DEATHS)
    const [dead] = await own.sql`select submission from dead_submission where id = ${killer}`
    assert.equal(JSON.parse(dead!['submission']).body.description, 'deadly')
  })
})

const chunksOf = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))

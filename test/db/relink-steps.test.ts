import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { JOB_VERSION, type JobOf, type Operation, type SubmissionJob } from '../../contract/job.ts'
import { purgeRow, removePurged } from '../../db/purges/purge.ts'
import { type PurgeRows, type Rows, store, storeFree } from '../../db/store.ts'
import { applyAll } from '../model/model.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { linkOneAtATime } from '../support/relink-steps.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

/** Locks are those of the database: another test must not hold this one's. */
const WORKSPACE = randomUUID()
const EMAIL = 'shared@example.org'
const FEEDBACK = 5
const MUCH_FEEDBACK = process.env['TEST_SIZE'] === 'long' ? 20_000 : 2_500
const PART = 500

const job = (number: number, operation: Operation, body: object): SubmissionJob =>
  ({
    version: JOB_VERSION,
    workspaceId: WORKSPACE,
    submissionId: `01a00000-0000-7000-8000-${String(number).padStart(12, '0')}`,
    number,
    operation,
    body,
  }) as SubmissionJob

const feedback = (number: number): SubmissionJob =>
  job(number, 'create_feedback', { description: 'x', source: 'API', tags: [], contact: { email: EMAIL } })
const FEEDBACKS = Array.from({ length: FEEDBACK }, (_, at) => feedback(at + 1))
const CLAIM = job(10, 'identify_contact', { id: 'ann', source: 'crm', properties: { $email: EMAIL } })
const LATER = feedback(11)
const MUCH_LATER = job(100_000, 'identify_contact', { id: 'bob', source: 'crm', properties: { $email: EMAIL } })
const PURGE = job(12, 'purge_contact', { id: 'ann' }) as JobOf<'purge_contact'>

describe('a contact whom much feedback comes to mean', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
    await linkOneAtATime(schema.sql)
  })
  after(() => schema.drop())

  /** As by a worker that dies after the statement, before the first step. */
  const storeAndDie = async (rows: readonly Rows[]): Promise<void> => {
    await schema.sql`alter function relink_step(uuid) rename to missing_step`
    await assert.rejects(store(schema.sql, rows), { code: '42883' })
    await schema.sql`alter function missing_step(uuid) rename to relink_step`
  }
  const countLeft = async (): Promise<number> => (await schema.sql`select from relink_left where not is_linked`).length

  it('is linked to by whoever comes next, before anything else is stored', async () => {
    await clearTables(schema.sql)
    await store(schema.sql, FEEDBACKS.map(toRows))
    await storeAndDie([toRows(CLAIM)])
    assert.equal(await countLeft(), FEEDBACK)
    const { busy } = await storeFree(schema.sql, [toRows(LATER)], new Map())
    assert.deepEqual(busy, [WORKSPACE])
    assert.equal(await countLeft(), 0)
    await store(schema.sql, [toRows(CLAIM), toRows(LATER)])
    assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, [...FEEDBACKS, CLAIM, LATER])))
  })

  it('keeps the version before waiting, which knows no steps', async () => {
    await clearTables(schema.sql)
    await store(schema.sql, FEEDBACKS.map(toRows))
    await storeAndDie([toRows(CLAIM)])
    const parts = schema.sql.json({ [WORKSPACE]: [{ submissions: [toRows(LATER).submission] }] })
    await assert.rejects(schema.sql`select id, state from store(${parts})`, { code: '55P03' })
    await store(schema.sql, [toRows(LATER)])
  })

  it('takes all of it along when a purge comes with the same batch', async () => {
    await clearTables(schema.sql)
    await store(schema.sql, FEEDBACKS.map(toRows))
    const purge: PurgeRows = { workspaceId: WORKSPACE, purge: purgeRow(hashKey, PURGE) }
    await store(schema.sql, [toRows(CLAIM), toRows(LATER), purge])
    await removePurged(schema.sql, PURGE, async () => {})
    assert.equal((await schema.sql`select from feedback`).length, 0)
  })

  it(`is linked to by ${MUCH_FEEDBACK} feedback in steps of a thousand`, async () => {
    await clearTables(schema.sql)
    await schema.sql`create or replace function most_relinked_at_once() returns int language sql immutable parallel safe return 1000`
    for (let first = 20; first < 20 + MUCH_FEEDBACK; first += PART)
      await store(
        schema.sql,
        Array.from({ length: PART }, (_, at) => toRows(feedback(first + at))),
      )
    const startedAt = performance.now()
    await storeAndDie([toRows(MUCH_LATER)])
    const steps: number[] = [performance.now() - startedAt]
    for (let isLeft = true; isLeft;) {
      const stepAt = performance.now()
      const [step] = await schema.sql<[{ left: boolean }]>`select relink_step(${WORKSPACE}) as left`
      isLeft = step.left
      steps.push(performance.now() - stepAt)
    }
    const [all, slowest] = [steps.reduce((sum, ms) => sum + ms, 0), Math.max(...steps)]
    console.log(`${steps.length} steps, ${Math.round(all)} ms, the slowest ${Math.round(slowest)} ms`)
    assert.equal(steps.length, 2 + Math.ceil(MUCH_FEEDBACK / 1_000))
    const meant =
      await schema.sql`select distinct f.contact_id from feedback as f join contact as c on c.id = f.contact_id`
    assert.equal(meant.length, 1)
  })
})

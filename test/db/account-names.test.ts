import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { JOB_VERSION, type Operation, type SubmissionJob, submissionJob } from '../../contract/job.ts'
import { ownId } from '../../contract/identity/own-id.ts'
import { store } from '../../db/store.ts'
import { applyAll } from '../model/model.ts'
import { batchesOf, byWorkers, hashKey, schedules, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 3_000 : 150
const WORKERS = 2
const FIRST_NUMBER = 1_000_000
const workspaceId = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'

const submission = (number: number, operation: Operation, body: object): SubmissionJob =>
  v.parse(submissionJob, {
    version: JOB_VERSION,
    workspaceId,
    submissionId: `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`,
    number,
    operation,
    body,
  })
const feedback = (number: number, account: object): SubmissionJob =>
  submission(number, 'create_feedback', { description: 'slow', account })

const nameId = ownId({ hashKey, workspaceId }, 'account_name', 'Acme')
const domainId = (of: string): string => ownId({ hashKey, workspaceId }, 'account_domain', of)

/** One name and two domains, so that the name leads now here, now there, and is claimed now and then. */
const name = fc.constantFrom('Acme', 'Acme', 'Acme', 'Bob')
const domain = fc.constantFrom('a.example', 'b.example')
const id = fc.constantFrom(nameId, domainId('a.example'), domainId('b.example'))
const given = fc.oneof(
  { weight: 6, arbitrary: fc.record({ name, domain }) },
  { weight: 4, arbitrary: fc.record({ name }) },
  { weight: 2, arbitrary: fc.record({ id, name, domain }) },
  { weight: 1, arbitrary: fc.record({ domain }) },
)
const claimed = fc.record({ $name: fc.constant('Acme'), $domain: fc.constantFrom('a.example', 'b.example', '') })
const said = fc.oneof(
  {
    weight: 12,
    arbitrary: given.map((account) => ({
      operation: 'create_feedback' as const,
      body: { description: 'slow', account: { ...account } },
    })),
  },
  {
    weight: 1,
    arbitrary: claimed.map((properties) => ({
      operation: 'identify_account' as const,
      body: { id: '1', properties: { ...properties } },
    })),
  },
)
const histories = fc
  .array(said, { maxLength: 12, size: 'max' })
  .map((drawn) => drawn.map(({ operation, body }, place) => submission(FIRST_NUMBER + place, operation, body)))

describe('account names that came with domains', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(WORKERS)
  })
  after(() => schema.drop())

  const accountsOf = async (...numbers: number[]): Promise<(string | null)[]> => {
    const rows = await schema.sql<{ account: string | null }[]>`
      select account_id as account from feedback where number = any (${numbers}::bigint[]) order by number`
    return rows.map(({ account }) => account)
  }
  const links = async (): Promise<number[]> => {
    const rows = await schema.sql<{ number: string }[]>`select number from identity_claim where link order by number`
    return rows.map(({ number }) => Number(number))
  }

  it(`mean the same whoever stores them, in whatever order, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(schema.sql)
        await byWorkers(WORKERS, batchesOf(history.map(toRows), schedule), (batch) => store(schema.sql, batch))
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('keep one link while it repeats, and every one that a late link to elsewhere makes necessary', async () => {
    await clearTables(schema.sql)
    const acme = (at: string) => ({ name: 'Acme', domain: at })
    for (const number of [1, 3, 5]) await store(schema.sql, [toRows(feedback(number, acme('a.example')))])
    assert.deepEqual(await links(), [1])
    await store(schema.sql, [toRows(feedback(2, acme('b.example')))])
    assert.deepEqual(await links(), [1, 2, 3])
    await store(schema.sql, [toRows(feedback(6, { name: 'Acme' }))])
    assert.deepEqual(
      await accountsOf(1, 2, 3, 5, 6),
      ['a', 'b', 'a', 'a', 'a'].map((d) => domainId(`${d}.example`)),
    )
  })

  it('keep a link that repeated one of its own batch, when a restored one comes between', async () => {
    await clearTables(schema.sql)
    const acme = (at: string) => ({ name: 'Acme', domain: at })
    await store(schema.sql, [
      toRows(feedback(1, acme('a.example'))),
      toRows(feedback(3, acme('a.example'))),
      toRows(feedback(5, { name: 'Acme' })),
    ])
    await store(schema.sql, [toRows(feedback(2, acme('b.example'))), toRows(feedback(4, acme('b.example')))])
    assert.deepEqual(await links(), [1, 2, 3, 4])
    assert.deepEqual(await accountsOf(5), [domainId('b.example')])
  })

  it('keep a link that repeated one which turned out not to be said', async () => {
    await clearTables(schema.sql)
    const byId = { id: domainId('b.example'), name: 'Acme', domain: 'a.example' }
    await store(schema.sql, [toRows(feedback(2, byId))])
    await store(schema.sql, [toRows(feedback(4, { name: 'Acme', domain: 'a.example' }))])
    assert.deepEqual(await links(), [2])
    // Now the id means somebody, and what was given beside it counts for nothing.
    await store(schema.sql, [toRows(feedback(1, { domain: 'b.example' }))])
    assert.deepEqual(await links(), [4])
    await store(schema.sql, [toRows(feedback(5, { name: 'Acme' }))])
    assert.deepEqual(
      await accountsOf(2, 4, 5),
      ['b', 'a', 'a'].map((d) => domainId(`${d}.example`)),
    )
  })
})

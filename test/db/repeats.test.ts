import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { JOB_VERSION, type SubmissionJob } from '../../contract/job.ts'
import { applyAll } from '../model/model.ts'
import { hashKey, storing, toRows } from '../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { dumpModel, dumpTables } from '../support/tables.ts'

const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01'
const EMAIL = 'shared@example.org'

const job = (number: number, operation: SubmissionJob['operation'], body: object): SubmissionJob =>
  ({
    version: JOB_VERSION,
    workspaceId: WORKSPACE,
    submissionId: `01a00000-0000-7000-8000-${String(number).padStart(12, '0')}`,
    number,
    operation,
    body,
  }) as SubmissionJob
const claim = (number: number, id: string): SubmissionJob =>
  job(number, 'identify_contact', { id, source: 'crm', properties: { $email: EMAIL } })

describe('a claim that repeats another', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
  })
  after(() => schema.drop())

  it('stays when a claim comes late between the two, together with one that repeats it once more', async () => {
    const feedback = job(4, 'create_feedback', {
      description: 'x',
      source: 'API',
      tags: [],
      contact: { email: EMAIL },
    })
    const history = [claim(1, 'a'), claim(2, 'b'), claim(3, 'a'), feedback, claim(5, 'a')]
    const rows = history.map(toRows)
    const storeNext = storing(schema.sql, history)
    for (const batch of [[0], [2], [3], [1, 4]]) await storeNext(batch.map((at) => rows[at]!))
    assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
  })

  it('takes no row in the end, whatever else was under way when it was stored', async () => {
    const times = 60
    const history = Array.from({ length: times }, (_, at) => claim(101 + at, 'z'))
    const rows = history.map(toRows)
    const storeNext = storing(schema.sql, history)
    const countClaims = async (): Promise<number> => (await schema.sql`select from identity_claim`).length
    const claimed = await countClaims()
    const even = rows.filter((_, at) => at % 2 === 0)
    for (const one of even.toReversed()) await storeNext([one])
    const meanwhile = (await countClaims()) - claimed
    assert.ok(meanwhile >= times / 2, `only ${meanwhile} rows while something could come between`)
    await storeNext(rows.filter((_, at) => at % 2 === 1))
    assert.ok((await countClaims()) - claimed <= 2, `${(await countClaims()) - claimed} rows`)
  })
})

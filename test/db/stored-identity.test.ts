import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ownId } from '../../contract/identity/own-id.ts'
import { JOB_VERSION, type SubmissionJob } from '../../contract/job.ts'
import { readStoredIdentity } from '../../db/identity/stored-identity.ts'
import { store } from '../../db/store.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'

const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a02'
const EMAIL = 'shared@example.org'
const CLAIMS = 50

const claim = (number: number): SubmissionJob => ({
  version: JOB_VERSION,
  workspaceId: WORKSPACE,
  submissionId: `01a00000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  number,
  operation: 'identify_contact',
  body: { id: `contact ${number}`, source: 'crm', properties: { $email: EMAIL } },
})

describe('an email that many contacts have claimed', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
    await store(
      schema.sql,
      Array.from({ length: CLAIMS }, (_, at) => toRows(claim(at + 1))),
    )
  })
  after(() => schema.drop())

  const claimsBefore = async (number: number, isWhole: boolean): Promise<number[]> => {
    const emails = [ownId({ hashKey, workspaceId: WORKSPACE }, 'contact_email', EMAIL)]
    const nothing = { groups: [], ownIds: [], bases: [], purges: [] }
    const asked = { workspaceId: WORKSPACE, number, emails, isWhole, ...nothing }
    return (await readStoredIdentity(schema.sql, asked)).claims.map((one) => one.number)
  }

  it('is told by its first claim and its last before a number, and by all where a purge may take some away', async () => {
    assert.deepEqual(await claimsBefore(CLAIMS + 1, false), [1, CLAIMS])
    assert.deepEqual(await claimsBefore(20, false), [1, 19])
    assert.deepEqual(await claimsBefore(2, false), [1])
    assert.deepEqual(await claimsBefore(1, false), [])
    assert.equal((await claimsBefore(CLAIMS + 1, true)).length, CLAIMS)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { JOB_VERSION, submissionJob } from '../../contract/job.ts'
import { ownId } from '../../contract/identity/own-id.ts'
import { store } from '../../db/store.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'

const workspaceId = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
const projectId = (name: string): string => ownId({ hashKey, workspaceId }, 'project', name)

const feedback = (number: number, body: object) =>
  toRows(
    v.parse(submissionJob, {
      version: JOB_VERSION,
      workspaceId,
      submissionId: `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`,
      number,
      operation: 'create_feedback',
      body: { description: 'slow', ...body },
    }),
  )

describe('a batch', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(1)
  })
  after(() => schema.drop())

  it('keeps an account that is known by its name when a later reference to it gives the name with a domain', async () => {
    const acme = ownId({ hashKey, workspaceId }, 'account_name', 'Acme')
    await store(schema.sql, [
      feedback(11, { account: { name: 'Acme' } }),
      feedback(12, { account: { id: acme, name: 'Acme', domain: 'acme.example' } }),
    ])
    const links = await schema.sql<{ account: string | null }[]>`
      select account_id as account from feedback where number in (11, 12)`
    assert.deepEqual(
      links.map(({ account }) => account),
      [acme, acme],
    )
    const accounts = await schema.sql<{ id: string }[]>`select id from account`
    assert.deepEqual([...accounts], [{ id: acme }])
  })

  it('creates no project beside an id that only the batch itself makes known', async () => {
    await store(schema.sql, [
      feedback(1, { project: { name: 'Ann' } }),
      feedback(2, { project: { id: projectId('Ann'), name: 'Bob' } }),
    ])
    await store(schema.sql, [feedback(3, { projectId: projectId('Bob') })])
    const projects = await schema.sql`select name from project`
    const links = await schema.sql<{ project: string | null }[]>`
      select project_id as project from feedback where number < 10 order by number`
    assert.deepEqual([...projects], [{ name: 'Ann' }])
    assert.deepEqual(
      links.map(({ project }) => project),
      [projectId('Ann'), projectId('Ann'), null],
    )
  })
})

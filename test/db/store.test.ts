import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { JOB_VERSION, type Operation, submissionJob } from '../../contract/job.ts'
import { ownId } from '../../contract/identity/own-id.ts'
import { type Rows, store } from '../../db/store.ts'
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

  it('of many workspaces takes no more steps than one of a single workspace', async () => {
    const { sql } = schema
    await sql`set track_functions = 'all'`
    const one = Array.from({ length: WORKSPACES }, () => workspaceId)
    const many = Array.from({ length: WORKSPACES }, () => randomUUID())
    const ofOne = await callsWhile(() => store(sql, newcomers(one)))
    const ofMany = await callsWhile(() => store(sql, newcomers(many)))
    assert.equal(ofMany.get('resolve_references'), 1)
    assert.equal(ofMany.get('store_identities'), 1)
    const more = [...ofMany].filter(([name, calls]) => calls > (ofOne.get(name) ?? 0))
    assert.deepEqual(more, [])
  })

  const callsWhile = async (work: () => Promise<unknown>): Promise<Map<string, number>> => {
    const former = await calls()
    await work()
    const all = [...(await calls())].map(([name, count]) => [name, count - (former.get(name) ?? 0)] as const)
    return new Map(all.filter(([, count]) => count > 0))
  }
  const calls = async (): Promise<Map<string, number>> => {
    await schema.sql`select pg_stat_force_next_flush()`
    const rows = await schema.sql<{ name: string; calls: number }[]>`
      select funcname as name, calls::int from pg_stat_user_functions where schemaname = current_schema()`
    return new Map(rows.map(({ name, calls: count }) => [name, count]))
  }
})

const WORKSPACES = 20
let nextNumber = 1_000

/** A feedback and an identified contact in each of these workspaces, of people and companies that nobody knows. */
const newcomers = (workspaces: readonly string[]): Rows[] =>
  workspaces.flatMap((workspace) => {
    const place = nextNumber++
    const account = { name: `Company ${place}`, domain: `company-${place}.example` }
    return [
      rowsIn(workspace, 'create_feedback', {
        description: 'slow',
        tags: ['speed'],
        contact: { email: `giver-${place}@example.com` },
        account,
      }),
      rowsIn(workspace, 'identify_contact', {
        id: `user-${place}`,
        source: 'crm',
        properties: { $email: `user-${place}@example.com` },
      }),
    ]
  })

const rowsIn = (workspace: string, operation: Operation, body: object): Rows =>
  toRows(
    v.parse(submissionJob, {
      version: JOB_VERSION,
      workspaceId: workspace,
      submissionId: randomUUID(),
      number: nextNumber++,
      operation,
      body,
    }),
  )

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { checkBlockers } from '../../../cli/doctor/check-blockers.ts'
import { connectPostgres, type Sql } from '../../../db/postgres.ts'
import { createWorkspace } from '../../../db/workspaces.ts'
import { freshSchema, type TestSchema } from '../../support/schema.ts'
import { testServers } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

describe('the doctor', () => {
  let schema: TestSchema
  let worker: Sql
  before(async () => {
    schema = await freshSchema()
    worker = connectPostgres(testServers().databaseUrl, {
      connections: 1,
      statementTimeoutMs: 60_000,
      applicationName: 'feedback-insights-worker',
      schema: schema.name,
    })
  })
  after(async () => {
    await worker?.end({ timeout: 5 })
    await schema?.drop()
  })

  it('names the session that holds a workspace up, and nothing once it is gone', async () => {
    const { id } = (await createWorkspace(schema.sql, 'held'))!
    const other = await schema.sql.reserve()
    await other.unsafe('begin')
    await other`select 1 from workspace_progress where workspace_id = ${id} for update`
    const [{ pid }] = await other<[{ pid: number }]>`select pg_backend_pid() as pid`
    const waiting = worker`select 1 from workspace_progress where workspace_id = ${id} for update`.execute()
    const [finding] = await until('it is found', async () => {
      const found = await checkBlockers(schema.sql)
      return found.length > 0 && found
    })
    assert.equal(finding?.state, 'warning')
    assert.match(
      finding.text,
      new RegExp(`^The session ${pid} of role \\w+ \\(test\\) holds locks for which 1 statement`),
    )
    await other.unsafe('rollback')
    other.release()
    await waiting
    assert.deepEqual(await checkBlockers(schema.sql), [])
  })
})

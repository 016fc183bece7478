import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { checkBlockers } from '../../../cli/doctor/check-postgres.ts'
import type { Sql } from '../../../db/connection/postgres.ts'
import { logBlockers } from '../../../worker/apply/apply-safely.ts'
import { createWorkspace } from '../../../db/workspaces/workspaces.ts'
import { connectToSchema, freshSchema, type TestSchema } from '../../support/schema.ts'
import { until } from '../../support/until.ts'

const PROCESSES = ['feedback-insights-worker', 'feedback-insights-doctor'] as const
type Blocked = { seconds: number; role: string; workspaceIds: string[]; pid: number; program: string }

describe('the doctor and a worker', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
  })
  after(() => schema?.drop())

  const findsBlocker = async (worker: Sql, doctor: Sql): Promise<void> => {
    const { id } = (await createWorkspace(schema.sql, randomUUID()))!
    const other = await schema.sql.reserve()
    await other.unsafe('begin')
    await other`select 1 from workspace_progress where workspace_id = ${id} for update`
    const [{ pid }] = await other<[{ pid: number }]>`select pg_backend_pid() as pid`
    const logged: unknown[] = []
    const watch = { sql: doctor, workspaceIds: [id], log: (...line: unknown[]) => void logged.push(line) }
    const waiting = logBlockers(watch, async () => {
      await worker`select 1 from workspace_progress where workspace_id = ${id} for update`
    })
    const [finding] = await until('the session is found', async () => {
      const found = await checkBlockers(doctor)
      return found.length > 0 && found
    })
    assert.equal(finding?.level, 'attention')
    assert.match(
      finding.what,
      new RegExp(`^The session ${pid} of role \\w+ \\(test\\) holds locks for which 1 statement`),
    )
    await until('the worker has logged the session', () => Promise.resolve(logged.length > 0))
    await other.unsafe('rollback')
    other.release()
    await waiting
    const [[level, event, { seconds, role, ...details }], ...others] = logged as [[string, string, Blocked]]
    assert.deepEqual(
      [level, event, details, others],
      ['warn', 'waiting_for_lock', { workspaceIds: [id], pid, program: 'test' }, []],
    )
    assert.ok(seconds >= 2 && role !== '')
    assert.deepEqual(await checkBlockers(doctor), [])
  }

  for (const [title, ...names] of [
    ['name the session that blocks a workspace, but not after its end', ...PROCESSES],
    ['do so also if DATABASE_URL names the connections', 'Feedback', 'Feedback'],
  ] as const) {
    it(title, async () => {
      const pools = names.map((applicationName) => connectToSchema(schema.name, { applicationName }))
      try {
        await findsBlocker(pools[0]!, pools[1]!)
      } finally {
        await Promise.all(pools.map((sql) => sql.end({ timeout: 5 })))
      }
    })
  }
})

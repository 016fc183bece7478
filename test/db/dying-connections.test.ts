import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isUnavailable } from '../../runtime/fault.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Submission } from '../../contract/submission.ts'
import { applyStrides } from '../support/apply-strides.ts'
import { applyAll } from '../model/model.ts'
import { isOnCitus } from '../support/citus.ts'
import { seeded } from '../support/property-seed.ts'
import { connectToSchema, freshSchema, hashKey, makeWorkspaces, type TestSchema } from '../support/schema.ts'
import { clearTables, dumpModel, dumpTables, resetPositions } from '../support/tables.ts'
import { MAX_LENGTH, submissionHistories } from '../model/submission-arbitrary.ts'

const histories = submissionHistories({ hashKey })
const HISTORIES = Number(process.env['FAULT_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 2_000 : 15))
const WORKERS = 3
/** The most kills for one log: after each, the driver pauses before it connects again. */
const MOST_DEATHS = 5
/**
 * The number of submissions of each stride, and whether the other connections at work are killed
 * during it.
 */
const strides = fc.array(fc.record({ size: fc.integer({ min: 1, max: 10 }), dies: fc.boolean() }), {
  minLength: 1,
  maxLength: MAX_LENGTH,
})

/** A kill for one log can hit any statement of the workers, also another kill. */
const expectUnavailable = (error: unknown): undefined => {
  assert.ok(isUnavailable(error), String(error))
}

describe('connections that die in the middle of a statement', () => {
  let schema: TestSchema
  let workers: Sql

  before(async () => {
    schema = await freshSchema(1)
    // The name of the application restricts the kills to these connections.
    workers = connectToSchema(schema.name, { connections: WORKERS, applicationName: workersName() })
  })
  after(async () => {
    await workers.end({ timeout: 5 })
    await schema.drop()
  })

  const workersName = (): string => `worker-of-${schema.name}`
  const killOthers = (): Promise<unknown> => (isOnCitus() ? killOnNodes() : killHere())
  /** The coordinator keeps connections to the nodes for each of its own connections. */
  const killOnNodes = (): Promise<unknown> =>
    schema.sql`
      select run_command_on_workers(format(
        'select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = any (%L::text[])',
        array(
          select 'citus_internal gpid=' || citus_calculate_gpid(citus_coordinator_nodeid(), pid)
          from pg_stat_activity where application_name = ${workersName()}
        )))`
  const killHere = (): Promise<unknown> =>
    workers`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = current_setting('application_name') and state = 'active' and pid <> pg_backend_pid()`.catch(
      expectUnavailable,
    )

  it(`leave no partial work and no statement without an answer, in ${HISTORIES} histories`, async () => {
    const applyAllOf = async (log: readonly Submission[], steps: readonly { size: number; dies: boolean }[]) => {
      const { workspaceId } = log[0]!
      let position = 0
      for (let step = 0; position < log.at(-1)!.number; step++) {
        const { size, dies } = steps[step % steps.length]!
        const submissions = log.filter(({ number }) => number > position).slice(0, size)
        const stride = { workspaceId, after: position, submissions }
        const work = applyStrides({ sql: workers, hashKey }, [stride]).catch(expectUnavailable)
        if (dies && step < MOST_DEATHS) await killOthers()
        const result = (await work)?.get(workspaceId)
        if (result === undefined) continue
        assert.ok(result.end === 'applied')
        position = result.position
      }
    }
    await fc.assert(
      fc.asyncProperty(histories, strides, async (history, steps) => {
        await clearTables(schema.sql)
        const logs = [...Map.groupBy(history, ({ workspaceId }) => workspaceId)]
        await makeWorkspaces(
          schema.sql,
          logs.map(([workspaceId]) => workspaceId),
        )
        await resetPositions(schema.sql)
        await Promise.all(logs.map(([, log]) => applyAllOf(log, steps)))
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})

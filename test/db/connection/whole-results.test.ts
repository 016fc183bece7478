import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sql } from '../../../db/connection/postgres.ts'
import { connectToSchema, freshSchema, type TestSchema } from '../../support/schema.ts'
import { until } from '../../support/until.ts'

/** Rows so large that the server sends the first before the last is ready. */
const ROW_BYTES = 20_000
const APPLICATION = 'whole-results'

describe('a connection that dies between two rows of a result', () => {
  let schema: TestSchema
  let sql: Sql

  before(async () => {
    schema = await freshSchema(1)
    sql = connectToSchema(schema.name, { applicationName: APPLICATION })
  })
  after(async () => {
    await sql.end({ timeout: 5 })
    await schema.drop()
  })

  const killAtTheFifthRow = async (): Promise<void> => {
    const cut = sql`
      select repeat('x', ${ROW_BYTES}::int), case when row = 5 then pg_sleep(60)::text end as slept
      from generate_series(1, 9) as row`.catch((error: unknown) => error)
    await until('the statement is at its fifth row', async () => {
      const killed = await schema.sql<{ pid: number }[]>`
        select pid, pg_terminate_backend(pid) from pg_stat_activity
        where application_name = ${APPLICATION} and wait_event = 'PgSleep'`
      return killed.length > 0
    })
    assert.ok((await cut) instanceof Error)
  }

  /** The connection may still be closing when its statement has failed. */
  const nextResult = async <T extends object>(statement: () => Promise<T>): Promise<T> =>
    until('a new connection answers', () => statement().catch(() => undefined))

  it('leaves no holes in the result of the next statement', async () => {
    await killAtTheFifthRow()
    assert.deepEqual(Array.from(await nextResult(() => sql<{ one: number }[]>`select 1 as one`)), [{ one: 1 }])
  })

  it('leaves no holes in the result of a text with parameters, or in an empty result', async () => {
    await killAtTheFifthRow()
    assert.deepEqual(Array.from(await nextResult(() => sql.unsafe('select $1::int as two', [2]))), [{ two: 2 }])
    await killAtTheFifthRow()
    assert.deepEqual(Array.from(await nextResult(() => sql`select 1 where false`)), [])
  })
})

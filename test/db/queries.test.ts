import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import type { Sql } from '../../db/connection/postgres.ts'
import { DOCUMENTED_QUERIES } from '../support/readme-commands.ts'
import { fillTables } from '../support/fill-tables.ts'
import { connectToSchema, freshSchema, type TestSchema, withOtherConnection } from '../support/schema.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const FEEDBACK = LONG ? 1_000_000 : 2_000
const TIMEOUT_MS = 600_000

describe(`the queries of docs/queries.md, with ${FEEDBACK} feedback stored`, { timeout: TIMEOUT_MS }, () => {
  let schema: TestSchema
  let reader: Sql
  before(async () => {
    schema = await freshSchema(1)
    await withOtherConnection(schema.name, TIMEOUT_MS, async (sql) => {
      await fillTables(sql, FEEDBACK)
      await sql`analyze`
    })
    reader = connectToSchema(schema.name, { isReadOnly: true })
  })
  after(async () => {
    await reader?.end({ timeout: 5 })
    await schema?.drop()
  })

  for (const [name, query] of DOCUMENTED_QUERIES) {
    it(`${name} answers`, async () => {
      const startedAt = performance.now()
      await reader.unsafe(query)
      if (LONG) console.log(`${name}: ${Math.round(performance.now() - startedAt)} ms`)
    })
  }
})

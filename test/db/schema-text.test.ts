import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { schemaText } from '../../db/schema-text.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'

describe('db/schema.sql', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
  })
  after(() => schema?.drop())

  it('is what the migrations come to; else write it anew: npm run schema', async () => {
    const written = readFileSync(new URL('../../db/schema.sql', import.meta.url), 'utf8')
    assert.equal(await schemaText(schema.sql), written)
  })
})

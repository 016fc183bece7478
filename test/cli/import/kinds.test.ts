import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findField, RECORDS, type Kind } from '../../../cli/import/kinds.ts'
import { FIELDS } from '../../end-to-end/interface-table.ts'

describe('the fields of files', () => {
  for (const [kind, { path: operation }] of Object.entries(RECORDS)) {
    it(`are all fields of ${operation}`, () => {
      const missing = FIELDS.filter(
        (field) =>
          field.operation === operation &&
          !/\.\d/.test(field.path) &&
          field.kind !== 'object' &&
          field.kind !== 'array' &&
          findField(kind as Kind, field.path) === undefined,
      )
      assert.deepEqual(
        missing.map(({ path }) => path),
        [],
        'cli/import/kinds.ts has no type for them',
      )
    })
  }
})

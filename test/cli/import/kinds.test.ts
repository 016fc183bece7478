import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findField, type Kind } from '../../../cli/import/kinds.ts'
import { FIELDS } from '../../end-to-end/interface-table.ts'

const OPERATIONS: Readonly<Record<Kind, string>> = {
  feedback: '/feedbacks',
  contacts: '/contacts/identify',
  accounts: '/accounts/identify',
  conversations: '/conversations',
}

describe('the fields of files', () => {
  for (const [kind, operation] of Object.entries(OPERATIONS)) {
    it(`include each field of ${operation} that is neither an object nor in an array`, () => {
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

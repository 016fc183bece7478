import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDateTime, storableDateTime } from '../../contract/date-time.ts'

describe('a date-time with an offset that Postgres does not take', () => {
  const inUtc = {
    '2026-06-01T12:00:00-23:59': '2026-06-02T11:59:00Z',
    '2026-06-01T12:00:00+16:00': '2026-05-31T20:00:00Z',
    '2026-06-01t12:00:00.123456789-16:00': '2026-06-02T04:00:00.123456789Z',
    '0001-01-02T00:00:00+23:59': '0001-01-01T00:01:00Z',
    '9999-12-31T00:00:00-23:59': '9999-12-31T23:59:00Z',
  }
  for (const [given, stored] of Object.entries(inUtc)) {
    it(`is given in UTC: ${given}`, () => {
      assert.equal(isDateTime(given), true)
      assert.equal(storableDateTime(given), stored)
    })
  }

  it('stays as it is with any other', () => {
    for (const given of ['2026-06-01T12:00:00Z', '2026-06-01t12:00:00.5z', '2026-06-01T12:00:00+15:59']) {
      assert.equal(storableDateTime(given), given)
    }
  })
})

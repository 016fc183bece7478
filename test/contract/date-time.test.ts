import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDateTime, postgresDateTime } from '../../contract/date-time.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { checkBody } from '../../contract/check-body.ts'

const GOOD = `2026-01-31T09:30:00Z 2026-01-31t09:30:00.5z 2024-02-29T23:59:59-12:00 2026-06-01T12:00:00+15:59
  0001-01-01T00:00:00Z 9999-12-31T23:59:59Z 2026-06-01T12:00:00-23:59 2026-01-31T09:30:00.${'9'.repeat(100)}Z`
const BAD = `2026-02-29T00:00:00Z 2026-13-01T00:00:00Z 2026-00-10T00:00:00Z 2026-01-31T24:00:00Z 2026-01-31T09:60:00Z
  2026-01-31T23:59:60Z 2026-01-31T09:30:00 2026-01-31T09:30:00+24:00 2026-01-31T09:30:00+01:60 2026-01-31T09:30Z
  2026-1-31T09:30:00Z 0000-12-31T23:59:59Z 0000-12-31T23:00:00-02:00 0001-01-01T00:00:00+01:00 9999-12-31T23:59:59-01:00
  +12026-01-31T09:30:00Z 1767225600 now infinity 2026-01-31T09:30:00.${'9'.repeat(101)}Z ２026-01-31T00:00:00Z`

describe('a date-time', () => {
  it('exists on the calendar and has an offset', () => {
    for (const good of GOOD.split(/\s+/)) assert.equal(isDateTime(good), true, good)
    for (const bad of [...BAD.split(/\s+/), '', '2026-01-31 09:30:00Z']) assert.equal(isDateTime(bad), false, bad)
  })

  it('in a body is not on the first day of the year 1, which programs write for a time that is not set', () => {
    for (const [createdAt, message] of [
      ['0001-01-01T00:00:00Z', 'createdAt must be a time that is known: 0001-01-01 means that none is set'],
      ['0001-01-01T12:00:00.5-05:00', 'createdAt must be a time that is known: 0001-01-01 means that none is set'],
      ['0001-01-02T00:00:00Z', undefined],
      ['1970-01-01T00:00:00Z', undefined],
    ] as const) {
      const checked = checkBody(feedbackRecord, { description: '', createdAt })
      assert.equal('valid' in checked ? undefined : checked.problems[0]!.message, message, createdAt)
    }
  })

  it('is cut to microseconds, converted to UTC if Postgres refuses its offset, and otherwise unchanged', () => {
    const inUtc = {
      '2026-06-01T12:00:00-23:59': '2026-06-02T11:59:00Z',
      '2026-06-01T12:00:00+16:00': '2026-05-31T20:00:00Z',
      '2026-06-01t12:00:00.123456789-16:00': '2026-06-02T04:00:00.123456Z',
      '0001-01-02T00:00:00+23:59': '0001-01-01T00:01:00Z',
      '9999-12-31T00:00:00-23:59': '9999-12-31T23:59:00Z',
    }
    for (const [given, stored] of Object.entries(inUtc)) assert.equal(postgresDateTime(given), stored)
    for (const second of ['9999-12-31T23:59:59', '2024-12-31T23:59:59'])
      assert.equal(postgresDateTime(`${second}.9999999Z`), `${second}.999999Z`)
    for (const given of ['2026-06-01T12:00:00Z', '2026-06-01t12:00:00.5z', '2026-06-01T12:00:00+15:59']) {
      assert.equal(postgresDateTime(given), given)
    }
  })
})

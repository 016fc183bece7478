import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dateOf, endDateOf } from '../../cli/option-values.ts'
import { CommandError } from '../../cli/run-command.ts'

const dates: Record<string, string> = {
  '2026-01-31': '2026-01-31T00:00:00.000Z',
  '2026-01-31T09:30Z': '2026-01-31T09:30:00.000Z',
  '2026-01-31T09:30+02:00': '2026-01-31T07:30:00.000Z',
  '2026-01-31T09:30-05:30': '2026-01-31T15:00:00.000Z',
  '2026-01-31T09:30:15.5Z': '2026-01-31T09:30:15.500Z',
}
for (const [text, moment] of Object.entries(dates)) {
  test(`an option can have the date ${text}`, () => {
    assert.equal(dateOf('since', text)?.toISOString(), moment)
  })
}

for (const [text, moment] of Object.entries({
  '2026-01-31': '2026-02-01T00:00:00.000Z',
  '2024-02-28': '2024-02-29T00:00:00.000Z',
  '2026-12-31': '2027-01-01T00:00:00.000Z',
  '9999-12-31': '9999-12-31T23:59:59.999Z',
  '2026-01-31T09:30+02:00': '2026-01-31T07:30:00.000Z',
})) {
  test(`a span that ends with ${text} ends at ${moment}: it includes a whole day`, () => {
    assert.equal(endDateOf('until', text)?.toISOString(), moment)
  })
}

test('a date-time without an offset, another form or a day that does not exist is refused, with the option named', () => {
  for (const text of ['', 'yesterday', '2026-01', '2026-02-30', '2026-01-31T09:30', '2026-01-31T09Z']) {
    const names = (error: unknown): boolean => error instanceof CommandError && error.message.startsWith('--since must')
    assert.throws(() => dateOf('since', text), names, text)
    assert.throws(() => endDateOf('since', text), names, text)
  }
})

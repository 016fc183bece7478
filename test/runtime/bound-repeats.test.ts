import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { boundRepeats } from '../../runtime/bound-repeats.ts'
import type { Logger } from '../../runtime/logger.ts'
import { until } from '../support/until.ts'

type Line = { event: string; fields: Readonly<Record<string, unknown>> }

const PERIOD_MS = 30

const createLines = (): { lines: Line[]; log: Logger } => {
  const lines: Line[] = []
  return { lines, log: boundRepeats((_level, event, fields = {}) => void lines.push({ event, fields }), PERIOD_MS) }
}

describe('a fault that comes again and again', () => {
  it('is logged once, and then counted with the fields of the last event', async () => {
    const { lines, log } = createLines()
    for (let at = 0; at < 1_000; at++) log('warn', 'save_failed', { at, fault: 'PostgresError 53100' })
    assert.deepEqual(lines, [{ event: 'save_failed', fields: { at: 0, fault: 'PostgresError 53100' } }])
    await until('the count is logged', () => Promise.resolve(lines.length === 2))
    assert.deepEqual(lines[1], { event: 'save_failed', fields: { at: 999, fault: 'PostgresError 53100', times: 999 } })
  })

  it('is logged at once again after a period without it', async () => {
    const { lines, log } = createLines()
    const fault = 'Error ENOSPC'
    log('error', 'job_failed', { fault })
    // This timer begins after that of the period, and is longer.
    await pause(2 * PERIOD_MS)
    log('error', 'job_failed', { fault })
    assert.deepEqual(
      lines.map(({ fields }) => fields),
      [{ fault }, { fault }],
    )
  })

  it('hides no other fault and no other event', () => {
    const { lines, log } = createLines()
    for (const fault of ['a', 'b']) for (const event of ['x', 'y']) log('warn', event, { fault })
    for (let at = 0; at < 3; at++) log('info', 'maintenance', { woken: at })
    assert.equal(lines.length, 7)
  })
})

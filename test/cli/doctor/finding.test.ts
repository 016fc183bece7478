import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeFinding, judgeClock, warning } from '../../../cli/doctor/finding.ts'

describe('findings', () => {
  it('about clocks allow for the time of the answer', () => {
    const at = (serverMs: number, took: number) => judgeClock('Redis', { serverMs, askedMs: 0, answeredMs: took })
    assert.equal(at(900, 0).level, 'well')
    assert.equal(at(1_500, 0).level, 'attention')
    assert.equal(at(1_500, 2_000).level, 'well')
    assert.equal(at(-90_000, 10).level, 'trouble')
    assert.match(at(-90_000, 10).what, /90005 ms behind/)
  })

  it('say what to do', () => {
    assert.equal(describeFinding(warning('It is so.', 'Do this.')), 'warning  It is so.\n         → Do this.')
  })
})

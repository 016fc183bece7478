import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { LATELY_SECONDS } from '../../queue/jobs/process-reports.ts'
import { createApplyTimes } from '../../worker/apply-times.ts'
import { seeded } from '../support/property-seed.ts'

const SECOND_MS = 1_000
/** Those of ten workspaces, and `others`. */
const COUNTERS = 11

/** Apply times on a clock that the test sets. */
const onClock = () => {
  const clock = { ms: 0 }
  const times = createApplyTimes(() => clock.ms)
  const counters = (): Map<string, number> =>
    new Map(times.counted().map(({ labels, value }) => [labels!['workspace']!, value]))
  return { clock, ...times, counters }
}
const near = (value: number | undefined, expected: number, what?: string): void =>
  assert.ok(value !== undefined && Math.abs(value - expected) < 1e-6, `${what ?? ''} ${value}, not ${expected}`)
const sum = (values: Iterable<number>): number => [...values].reduce((all, value) => all + value, 0)

describe('time of strides', () => {
  it('fades from the recent figures, but never from a counter', () => {
    const { clock, add, lately, counters } = onClock()
    add('a', 8)
    clock.ms = LATELY_SECONDS * SECOND_MS
    add('b', 1)
    const { total, byWorkspace } = lately()
    near(byWorkspace['a'], 8 / Math.E)
    near(byWorkspace['b'], 1)
    near(total, 1 + 8 / Math.E)
    near(counters().get('a'), 8)
    clock.ms = 100 * LATELY_SECONDS * SECOND_MS
    assert.deepEqual(lately().byWorkspace, {})
    near(counters().get('a'), 8)
  })

  it('does not grow when the clock goes back', () => {
    const { clock, add, lately } = onClock()
    clock.ms = 10 * SECOND_MS
    add('a', 1)
    clock.ms = 0
    near(lately().total, 1)
  })

  it('of ten thousand workspaces has a bounded number of figures, with the heavy workspace among them', () => {
    const { clock, add, lately, counters } = onClock()
    for (let at = 0; at < 20_000; at++) {
      clock.ms += 10
      add(`light ${at % 10_000}`, 0.01)
      // The heavy workspace begins late, with many short strides.
      if (at > 15_000 && at % 3 === 0) add('heavy', 0.01)
    }
    const { total, byWorkspace } = lately()
    assert.equal(Object.keys(byWorkspace).length, 50)
    assert.ok(sum(Object.values(byWorkspace)) < total / 2, 'the total includes the other workspaces')
    const share = byWorkspace['heavy']! / total
    assert.ok(share > 0.05, String(share))
    assert.equal(Math.max(...Object.values(byWorkspace)), byWorkspace['heavy'])
    assert.equal(counters().size, COUNTERS)
  })

  it('gives the counter of the lightest workspace to a workspace that takes a tenth', () => {
    const { clock, add, counters } = onClock()
    for (let at = 0; at < 10; at++) add(`w${at}`, 2 ** at)
    assert.equal(counters().size, COUNTERS)
    clock.ms = SECOND_MS
    add('small', 90)
    assert.equal(counters().get('small'), undefined)
    near(counters().get('others'), 90)
    add('large', 150)
    assert.equal(counters().size, COUNTERS)
    assert.equal(counters().get('w0'), undefined)
    near(counters().get('large'), 150)
  })

  it('is counted once, in counters that never fall', () => {
    const spent = fc.record({
      id: fc.nat({ max: 80 }),
      seconds: fc.double({ min: 0.001, max: 5, noNaN: true }),
      ms: fc.nat(60_000),
    })
    fc.assert(
      fc.property(fc.array(spent, { maxLength: 300 }), (all) => {
        const { clock, add, lately, counters } = onClock()
        let grown = 0
        let former = counters()
        for (const { id, seconds, ms } of all) {
          clock.ms += ms
          add(`w${id}`, seconds)
          const now = counters()
          for (const [workspace, value] of now) {
            const increase = value - (former.get(workspace) ?? 0)
            assert.ok(increase >= 0, workspace)
            grown += increase
          }
          former = now
          assert.ok(now.size <= COUNTERS)
        }
        const { total, byWorkspace } = lately()
        near(grown, sum(all.map(({ seconds }) => seconds)))
        assert.ok(sum(Object.values(byWorkspace)) <= total + 1e-6)
      }),
      seeded({ numRuns: 200 }),
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { watchLoopDelay } from '../../runtime/event-loop-delay.ts'
import { until } from '../support/until.ts'

const BLOCKED_MS = 800
/** Less than `BLOCKED_MS`: a timer may be due only after the block has begun. */
const LEAST_DELAY_SECONDS = 0.5

describe('watchLoopDelay', () => {
  it('measures how long the loop was blocked', async () => {
    const watch = watchLoopDelay()
    await until('a timer ran', async () => watch.current().max > 0)
    const end = performance.now() + BLOCKED_MS
    while (performance.now() < end);
    const { max, p99 } = await until('the delay is seen', async () => {
      const delay = watch.current()
      return delay.max > LEAST_DELAY_SECONDS && delay
    })
    watch.stop()
    assert.ok(max >= p99)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { nothingSeen, submitOne } from '../support/load.ts'
import { askedOf, assertNothingLost, assertWellAnswered, recovery } from '../support/recovery.ts'

const FULL_BYTES = 24 * 1024 * 1024
const LARGE_TEXT = 'x'.repeat(12_000)

describe('a Redis that fills up', () => {
  let stack: FaultStack
  before(async () => {
    stack = await startFaultStack({ redisMemoryBytes: FULL_BYTES })
  })
  after(() => stack?.stop())

  it('never gets full: refusals begin earlier, and all accepted submissions are applied', async () => {
    const asked = askedOf(stack)
    await stack.kept.worker.hold()
    const seen = nothingSeen()
    let texts = 0
    const fill = async (): Promise<void> => {
      for (let refused = 0; refused < 5;) {
        if (!(await submitOne(asked, seen, { index: texts++, more: LARGE_TEXT }))) refused++
      }
    }
    await Promise.all(Array.from({ length: 8 }, fill))
    const info = await stack.redis.info('memory')
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
    assertWellAnswered(seen)
    assert.ok(seen.accepted.size > 50)
    // A workspace is refused when its waiting bytes equal the remaining room, so that others have
    // room.
    assert.ok(used > 0.4 * FULL_BYTES && used < 0.7 * FULL_BYTES, `${used} of ${FULL_BYTES} bytes`)
    stack.kept.worker.letGo()
    await recovery(asked, seen)
    await assertNothingLost(asked, seen)
  })
})

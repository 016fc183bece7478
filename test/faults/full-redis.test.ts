import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { readLedger } from '../support/ledgers.ts'
import { until } from '../support/until.ts'

const FULL_BYTES = 24 * 1024 * 1024
const LARGE = { description: 'x'.repeat(12_000), tags: [] }

describe('a Redis that fills up', () => {
  let stack: FaultStack
  before(async () => {
    stack = await startFaultStack({ redisMemoryBytes: FULL_BYTES })
  })
  after(() => stack?.stop())

  it('never gets full: refusals begin earlier, and all accepted submissions are applied', async () => {
    const { kept, post, redis } = stack
    await kept.worker.hold()
    let accepted = 0
    const tryToSubmit = async (): Promise<boolean> => {
      const { status, headers, text } = await post('/feedbacks', LARGE)
      if (status === 201) accepted++
      else assert.ok(status === 503 && Number(headers.get('Retry-After')) > 0, text)
      return status === 201
    }
    const fill = async (): Promise<void> => {
      for (let refused = 0; refused < 5;) if (!(await tryToSubmit())) refused++
    }
    await Promise.all(Array.from({ length: 8 }, fill))
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
    assert.ok(accepted > 50)
    // A workspace is refused when more of its bytes wait than are free below the API's bound, so that
    // other workspaces keep some.
    assert.ok(used > 0.4 * FULL_BYTES && used < 0.7 * FULL_BYTES, `${used} of ${FULL_BYTES} bytes`)
    kept.worker.letGo()
    await until('the API accepts again', tryToSubmit)
    await until('all submissions are applied', async () => {
      const { applied, dead, difference } = await readLedger(stack)
      return applied === accepted && dead === 0 && difference === 0
    })
  })
})

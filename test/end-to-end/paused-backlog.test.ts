import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idleService } from '../support/shared-service.ts'
import { startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

const BATCHES = 16
const ITEMS = 250
/** So slow that much is left when the queue is paused. */
const SLOW_ROW_SECONDS = 0.005

describe('the queue backlog', () => {
  it('stops when an operator pauses it, however much waits, and goes on when it is resumed', async () => {
    await using running = new AsyncDisposableStack()
    const service = await idleService()
    running.defer(service.stop)
    for (let batch = 0; batch < BATCHES; batch++) {
      const items = Array.from({ length: ITEMS }, (_, item) => ({
        operation: 'create_feedback',
        body: { description: `number ${item} of ${batch}`, tags: ['slow'] },
      }))
      const { status, text } = await service.post('/batch', { items })
      assert.equal(status, 200, text)
    }
    const { backlog } = service.queues
    const stored = async (): Promise<number> => {
      const [row] = await service.sql<[{ n: number }]>`select count(*)::int as n from feedback`
      return row.n
    }
    await service.all.unsafe(`
      create function slow_down() returns trigger language plpgsql as $$
      begin perform pg_sleep(${SLOW_ROW_SECONDS}); return new; end $$`)
    await service.all`create trigger slow before insert on feedback for each row execute function slow_down()`

    const worker = await startProcess('worker/main.ts', 'working', service.environment)
    running.defer(() => worker.stop())
    await until('some is stored', async () => (await stored()) > 0)
    await backlog.pause()
    await until('nothing is at work', async () => (await backlog.getActiveCount()) === 0)
    const before = await stored()
    assert.ok(before < BATCHES * ITEMS, 'all was stored before it stopped')
    assert.equal(await backlog.isPaused(), true)

    await service.all`drop function slow_down cascade`
    await backlog.resume()
    await until('all is stored', async () => (await stored()) === BATCHES * ITEMS)
  })
})

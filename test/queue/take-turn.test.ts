import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { processKeys } from '../../queue/keys.ts'
import { takeTurn } from '../../queue/take-turn.ts'
import { openQueueRoom } from '../support/queue-room.ts'
import { until } from '../support/until.ts'

const PERIOD_MS = 60_000

describe('a turn', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  const take = (name: string, periodMs = PERIOD_MS) => takeTurn(room.redis, room.prefix, { name, periodMs })

  it('is one process’s in each period, and each thing has turns of its own', async () => {
    const taken = await Promise.all(Array.from({ length: 5 }, () => take('sweep')))
    assert.equal(taken.filter(Boolean).length, 1)
    assert.equal(await take('mop'), true)
    assert.equal(await take('short', 50), true)
    await until('the period is over', () => take('short', 50))
  })

  it('does not last until a clock that went back is there again', async () => {
    assert.equal(await take('late'), true)
    await room.redis.pexpire(processKeys(room.prefix).turn('late'), 2 * PERIOD_MS)
    assert.equal(await take('late'), true)
  })
})

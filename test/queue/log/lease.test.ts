import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { workspaceKeys } from '../../../queue/keys.ts'
import { sweepLogs } from '../../../queue/log/sweep.ts'
import type { TakeResult, TakeRequest, TakeSettings } from '../../../queue/log/log.ts'
import { requestFor, openQueueRoom, takeSettings } from '../../support/queue-room.ts'

const HOUR_MS = 3_600_000

describe('the lease of a log', () => {
  const room = openQueueRoom()
  after(() => room.close())

  const admit = async (workspaceId: string, count = 1): Promise<void> => {
    await Promise.all(Array.from({ length: count }, () => room.admit(requestFor({ workspaceId }))))
  }
  const logWith = async (count: number): Promise<string> => {
    const workspaceId = randomUUID()
    await admit(workspaceId, count)
    return workspaceId
  }
  const take = async (
    workspaceId: string,
    worker: string,
    { settings, ...request }: Omit<TakeRequest, 'workspaceId'> & { settings?: Partial<TakeSettings> } = {},
  ): Promise<TakeResult> =>
    (await room.log.take([{ workspaceId, ...request }], takeSettings({ worker, ...settings })))[0]!
  const outcomeOf = async (...given: Parameters<typeof take>): Promise<TakeResult['outcome']> =>
    (await take(...given)).outcome
  const boundOf = (taken: TakeResult): number => {
    assert.equal(taken.outcome, 'taken')
    return taken.bound
  }
  const deathsOf = (taken: TakeResult): number => {
    assert.equal(taken.outcome, 'taken')
    return taken.quarantineDeaths
  }
  const stateOf = (workspaceId: string): string => workspaceKeys(room.prefix, workspaceId).state
  /** The holder of the lease dies, and its lease ends. */
  const die = (workspaceId: string): Promise<unknown> => room.redis.hset(stateOf(workspaceId), 'until', Date.now() - 1)
  const firstOf = async (workspaceId: string): Promise<number> => {
    for await (const { number } of room.log.readWaiting(workspaceId)) return number
    throw new Error('Nothing waits.')
  }

  it('is renewed only by its holder', async () => {
    const workspaceId = await logWith(1)
    await take(workspaceId, 'a')
    await die(workspaceId)
    await room.log.renew('a', [workspaceId], 50_000)
    assert.equal(await outcomeOf(workspaceId, 'b'), 'leased')
    await die(workspaceId)
    await room.log.renew('b', [workspaceId], 50_000)
    assert.equal(await outcomeOf(workspaceId, 'b'), 'taken')
  })

  it('that ends without a release halves the next stride', async () => {
    const workspaceId = await logWith(400)
    await take(workspaceId, 'a', { settings: { submissions: 300 } })
    await die(workspaceId)
    assert.equal(boundOf(await take(workspaceId, 'b')), 150)
  })

  it('is kept by a take without submissions, and ends without a death', async () => {
    const workspaceId = await logWith(400)
    await take(workspaceId, 'a', { settings: { submissions: 0 } })
    assert.equal(await outcomeOf(workspaceId, 'b'), 'leased')
    await die(workspaceId)
    assert.equal(boundOf(await take(workspaceId, 'b')), Infinity)
  })

  it('is released by a take without submissions and without a lease', async () => {
    const workspaceId = await logWith(1)
    await take(workspaceId, 'a')
    await take(workspaceId, 'a', { settings: { submissions: 0, leaseMs: 0 } })
    assert.equal(await outcomeOf(workspaceId, 'b'), 'taken')
  })

  it('that ends again and again leads to strides of one, but does not make a small log deep at once', async () => {
    const workspaceId = await logWith(3)
    const strides: number[] = []
    for (let death = 0; death < 10; death++) {
      await take(workspaceId, `worker ${death}`)
      await die(workspaceId)
      strides.push(boundOf(await take(workspaceId, `worker ${death + 1}`)))
    }
    assert.deepEqual(strides, [16, 8, 4, 2, 1, 1, 1, 1, 1, 1])
    const alone = await take(workspaceId, 'worker 10')
    assert.deepEqual([deathsOf(alone), alone.outcome === 'taken' && alone.submissions.length], [0, 1])
  })

  it('notes a bound of strides until strides are full again', async () => {
    const workspaceId = await logWith(5)
    assert.equal(boundOf(await take(workspaceId, 'a', { bound: 2 })), 2)
    const taken = await take(workspaceId, 'a')
    assert.equal(taken.outcome === 'taken' && taken.submissions.length, 2)
    assert.equal(boundOf(await take(workspaceId, 'a', { bound: Infinity })), Infinity)
    assert.equal(await room.redis.hexists(stateOf(workspaceId), 'bound'), 0)
  })

  it('counts only deaths in quarantine, at a stride of one', async () => {
    const workspaceId = await logWith(2)
    const kill = async (worker: string, next: string): Promise<number> => {
      await take(workspaceId, worker)
      await die(workspaceId)
      return deathsOf(await take(workspaceId, next))
    }
    await take(workspaceId, 'a', { bound: 1 })
    assert.equal(await kill('a', 'b'), 0)
    await room.log.noteQuarantine(workspaceId)
    assert.equal(await kill('b', 'c'), 1)
    // The quarantine ended with the worker.
    assert.equal(await kill('c', 'd'), 1)
    await room.log.noteQuarantine(workspaceId)
    assert.equal(await kill('d', 'e'), 2)
    await room.log.noteQuarantine(workspaceId)
    await room.log.release('e', [workspaceId])
    assert.equal(deathsOf(await take(workspaceId, 'f')), 2)
    assert.equal(await kill('f', 'g'), 2)
  })

  it('forgets deaths in quarantine when the worker lives, or its submission is applied', async () => {
    const workspaceId = await logWith(2)
    const dieInQuarantine = async (next: string): Promise<number> => {
      await room.log.noteQuarantine(workspaceId)
      await die(workspaceId)
      return deathsOf(await take(workspaceId, next))
    }
    await take(workspaceId, 'a', { bound: 1 })
    assert.equal(await dieInQuarantine('b'), 1)
    await room.log.noteSurvived(workspaceId)
    assert.equal(deathsOf(await take(workspaceId, 'b')), 0)
    assert.equal(await dieInQuarantine('c'), 1)
    assert.equal(deathsOf(await take(workspaceId, 'c')), 1)
    assert.equal(deathsOf(await take(workspaceId, 'c', { applied: await firstOf(workspaceId) })), 0)
  })

  it('of a dead worker does not last when the clock of Redis goes back', async () => {
    const workspaceId = await logWith(1)
    await take(workspaceId, 'a')
    await room.redis.hset(stateOf(workspaceId), 'until', Date.now() + HOUR_MS)
    assert.equal(
      (await sweepLogs(room.redis, room.prefix, { workspaceIds: [workspaceId], waitedMs: 0, redoMs: 0 })).length,
      1,
    )
    assert.equal(boundOf(await take(workspaceId, 'b')), Infinity)
  })

  it('of a deep log is not given to a worker that takes no deep logs', async () => {
    const settings = { takesDeep: false }
    const workspaceId = await logWith(250)
    assert.equal(await outcomeOf(workspaceId, 'a', { settings }), 'taken')
    await admit(workspaceId)
    assert.equal(await outcomeOf(workspaceId, 'a', { settings }), 'deep')
    assert.equal(await outcomeOf(workspaceId, 'b'), 'taken')
    const short = await logWith(1)
    assert.equal(await outcomeOf(short, 'a', { settings, bound: 15 }), 'deep')
    assert.equal(await outcomeOf(short, 'a', { settings, bound: 16 }), 'taken')
    const large = randomUUID()
    await room.admit(requestFor({ workspaceId: large, bodyText: JSON.stringify({ description: 'x'.repeat(300_000) }) }))
    assert.equal(await outcomeOf(large, 'a', { settings }), 'deep')
  })

  describe('is checked by a sweep, which', () => {
    const sweep = (workspaceIds: string[], given: Partial<Parameters<typeof sweepLogs>[2]> = {}) =>
      sweepLogs(room.redis, room.prefix, { workspaceIds, waitedMs: 0, redoMs: HOUR_MS, ...given })

    it('wakes a log without a holder that has waited long enough', async () => {
      const [waiting, taken, done, deep] = [await logWith(1), await logWith(1), await logWith(1), await logWith(251)]
      await take(taken, 'a')
      await room.noteAllApplied(done)
      const all = [waiting, taken, done, deep, randomUUID()]
      assert.deepEqual(await sweep(all), [
        { workspaceId: waiting, isDeep: false },
        { workspaceId: deep, isDeep: true },
      ])
      assert.deepEqual(await sweep(all, { waitedMs: HOUR_MS }), [])
      await die(taken)
      assert.deepEqual(await sweep([taken]), [{ workspaceId: taken, isDeep: false }])
    })

    it('wakes a log at once when its oldest number is ahead of the clock', async () => {
      const workspaceId = randomUUID()
      const floor = (Date.now() + HOUR_MS) * 1_000
      await room.admitAbove(async () => floor)(requestFor({ workspaceId }))
      assert.equal((await sweep([workspaceId], { waitedMs: HOUR_MS })).length, 1)
    })

    it('trims applied entries that have stayed long enough', async () => {
      const workspaceId = await logWith(3)
      const { log } = workspaceKeys(room.prefix, workspaceId)
      const applied = (await Array.fromAsync(room.log.readWaiting(workspaceId))).at(-1)!.number
      await take(workspaceId, 'a', { applied, settings: { redoMs: HOUR_MS } })
      await sweep([workspaceId])
      assert.equal(await room.redis.xlen(log), 1)
      await sweep([workspaceId], { redoMs: 0 })
      assert.equal(await room.redis.xlen(log), 0)
    })

    it('returns a log to the position of a Postgres that has lost commits, but not one with a holder', async () => {
      const workspaceId = await logWith(3)
      const waiting = await Array.fromAsync(room.log.readWaiting(workspaceId))
      const [first, , last] = waiting.map(({ number }) => number)
      await take(workspaceId, 'a', { applied: last, settings: { redoMs: HOUR_MS } })
      const positions = new Map([[workspaceId, first!]])
      assert.deepEqual(await sweep([workspaceId], { positions, redoMs: 0 }), [{ workspaceId, isDeep: false }])
      assert.deepEqual(await Array.fromAsync(room.log.readWaiting(workspaceId)), waiting.slice(1))
      await take(workspaceId, 'a')
      await sweep([workspaceId], { positions: new Map([[workspaceId, 1]]) })
      assert.deepEqual(await Array.fromAsync(room.log.readWaiting(workspaceId)), waiting.slice(1))
    })
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { workspaceKeys } from '../../../queue/keys.ts'
import { readLogTotals } from '../../../queue/log/log-totals.ts'
import type { TakeResult, TakeRequest, TakeSettings } from '../../../queue/log/log.ts'
import { requestFor, entered, openQueueRoom, takeSettings } from '../../support/queue-room.ts'

const LARGE = JSON.stringify({ description: 'x'.repeat(10_000) })
const KEPT_MS = 60_000
const numbersOf = (taken: TakeResult | undefined): number[] => {
  assert.equal(taken?.outcome, 'taken')
  return taken.submissions.map(({ number }) => number)
}

describe('the log of a workspace', () => {
  const room = openQueueRoom()
  after(() => room.close())

  /** Admits this many submissions in one call, and returns their numbers. */
  const admit = async (workspaceId: string, count: number, bodyText = '{}'): Promise<number[]> => {
    const admitted = await Promise.all(
      Array.from({ length: count }, () => room.admit(requestFor({ workspaceId, bodyText }))),
    )
    return admitted.map((admission) => entered(admission).number)
  }
  const take = async (
    workspaceId: string,
    request: Omit<TakeRequest, 'workspaceId'> = {},
    settings: Partial<TakeSettings> = {},
  ): Promise<TakeResult | undefined> => (await room.log.take([{ workspaceId, ...request }], takeSettings(settings)))[0]
  const queued = async (workspaceId: string): Promise<number> =>
    (await readLogTotals(room.redis, room.prefix, [workspaceId]))[0]!.queued
  const entries = (workspaceId: string): Promise<number> => room.redis.xlen(workspaceKeys(room.prefix, workspaceId).log)

  it('is idle without admissions, and once all submissions are applied', async () => {
    const workspaceId = randomUUID()
    assert.deepEqual(await take(workspaceId), { outcome: 'idle' })
    assert.deepEqual(await room.keysOf(workspaceId), [])
    const [number] = await admit(workspaceId, 1)
    assert.deepEqual(numbersOf(await take(workspaceId)), [number])
    assert.deepEqual(await take(workspaceId, { applied: number }), { outcome: 'idle' })
    assert.equal(await entries(workspaceId), 0)
  })

  it('gives at least one submission, and further ones up to the requested bytes', async () => {
    const workspaceId = randomUUID()
    const numbers: number[] = []
    for (let count = 0; count < 4; count++) numbers.push(...(await admit(workspaceId, 1, LARGE)))
    assert.deepEqual(numbersOf(await take(workspaceId, {}, { bytes: 100 })), numbers.slice(0, 1))
    assert.deepEqual(numbersOf(await take(workspaceId, {}, { bytes: 2.5 * LARGE.length })), numbers.slice(0, 2))
    assert.deepEqual(numbersOf(await take(workspaceId)), numbers)
  })

  it('keeps an applied entry at least a set time after a worker has noted its position, and loses it at the second trim', async () => {
    const workspaceId = randomUUID()
    const { state } = workspaceKeys(room.prefix, workspaceId)
    const [first] = await admit(workspaceId, 1)
    const [second] = await admit(workspaceId, 1)
    const [third] = await admit(workspaceId, 1)
    await take(workspaceId, { applied: first }, { redoMs: KEPT_MS })
    await take(workspaceId, { applied: second }, { redoMs: KEPT_MS })
    assert.equal(await entries(workspaceId), 3)
    const passed = async () => room.redis.hincrby(state, 'redoAt', -KEPT_MS)
    await passed()
    await take(workspaceId, { applied: third }, { redoMs: KEPT_MS })
    assert.equal(await entries(workspaceId), 2)
    await passed()
    await take(workspaceId, {}, { redoMs: KEPT_MS })
    assert.equal(await entries(workspaceId), 0)
    assert.equal(await room.redis.hexists(state, 'redoAt'), 0)
  })

  it('is trimmed at once up to the number of a purge', async () => {
    const workspaceId = randomUUID()
    const numbers = await admit(workspaceId, 2)
    await admit(workspaceId, 1)
    await room.log.trimThrough(workspaceId, numbers[1]!)
    assert.equal(await entries(workspaceId), 1)
  })

  it('gives no number at or below the noted position, even after Redis has lost data', async () => {
    const workspaceId = randomUUID()
    const [number] = await admit(workspaceId, 1)
    const applied = number! + 10 ** 12
    await take(workspaceId, { applied })
    assert.deepEqual(await admit(workspaceId, 1), [applied + 1])
    assert.deepEqual(numbersOf(await take(workspaceId)), [applied + 1])
  })

  it('appends submissions again with new numbers and their former ids, and counts them once', async () => {
    const workspaceId = randomUUID()
    const idempotency = { key: 'k'.repeat(22), body: 'b'.repeat(9) }
    await room.admit(requestFor({ workspaceId, idempotency, traceparent: 'trace' }))
    await room.admit(requestFor({ workspaceId, operation: 'purge_contact' }))
    const former = await Array.fromAsync(room.log.readWaiting(workspaceId))
    const floor = (await room.noteAllApplied(workspaceId))! + 10 ** 12
    const last = await room.log.append(former, floor)
    const again = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.deepEqual(
      again,
      former.map(({ seenPosition: _, ...submission }, at) => ({
        ...submission,
        originalNumber: submission.number,
        number: floor + 1 + at,
      })),
    )
    assert.equal(last, again.at(-1)!.number)
    assert.equal(await entries(workspaceId), 2)
    const [totals] = await readLogTotals(room.redis, room.prefix, [workspaceId])
    assert.deepEqual([totals!.accepted, totals!.queued], [2, 2])
    const once = again.map(({ originalNumber }) => originalNumber)
    await room.log.append(again)
    const twice = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.deepEqual(
      twice.slice(2).map(({ originalNumber }) => originalNumber),
      once,
    )
  })

  it('has a receipt for a waiting submission until it is applied', async () => {
    const workspaceId = randomUUID()
    const { submissionId, number } = entered(
      await room.admit(requestFor({ workspaceId, operation: 'identify_account' })),
    )
    assert.deepEqual(await room.log.findQueued(workspaceId, submissionId), {
      id: submissionId,
      operation: 'identify_account',
      state: 'queued',
      attempts: 0,
      acceptedAt: new Date(Math.floor(number / 1_000)).toISOString(),
      finishedAt: null,
      error: null,
    })
    assert.equal(await room.log.findQueued(randomUUID(), submissionId), undefined)
    await take(workspaceId, { applied: number }, { redoMs: KEPT_MS })
    assert.equal(await entries(workspaceId), 1)
    assert.equal(await room.log.findQueued(workspaceId, submissionId), undefined)
  })

  it('is idle without its entries, and counts none', async () => {
    const workspaceId = randomUUID()
    await admit(workspaceId, 3)
    await room.redis.unlink(workspaceKeys(room.prefix, workspaceId).log)
    assert.deepEqual(await take(workspaceId), { outcome: 'idle' })
    assert.equal(await queued(workspaceId), 0)
  })
})

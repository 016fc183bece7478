import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { workspaceKeys } from '../../../queue/keys.ts'
import { readLogTotals } from '../../../queue/log/log-totals.ts'
import { sweepLogs } from '../../../queue/log/sweep.ts'
import { seeded } from '../../support/property-seed.ts'
import { requestFor, entered, openQueueRoom, takeSettings } from '../../support/queue-room.ts'

const KEPT_MS = 60_000
/** The bound of strides after the first death of a worker with few submissions. */
const BOUND_AFTER_DEATH = 16

const worker = fc.constantFrom('a', 'b')
/** `isJudged`: of each request of a call. No submission gets the number of a judged request. */
const admission = fc.record({
  step: fc.constant('admit' as const),
  isJudged: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
})
/** `applied` and `rewind`: which of the known numbers to note, counted from the end. */
const taking = fc.record({
  step: fc.constant('take' as const),
  worker,
  submissions: fc.nat({ max: 5 }),
  leaseMs: fc.constantFrom(0, 60_000),
  applied: fc.option(fc.nat({ max: 4 }), { freq: 2 }),
  rewind: fc.option(fc.nat({ max: 4 }), { freq: 2 }),
})
const step = fc.oneof(
  { arbitrary: admission, weight: 2 },
  { arbitrary: taking, weight: 4 },
  fc.record({ step: fc.constant('release' as const), worker }),
  fc.constant({ step: 'die' as const }),
  fc.constant({ step: 'keep-long-enough' as const }),
  fc.constant({ step: 'sweep' as const }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What the log should be: all numbers, the position, and the lease. */
type Model = {
  numbers: number[]
  position: number
  holder: string | undefined
  isLeaseOver: boolean
  /** The holder has read nothing under its lease. */
  isStaying: boolean
  bound: number
}

describe('a log with its lease', () => {
  const room = openQueueRoom()
  after(() => room.close())

  it('gives each admitted submission in order after the position, in random steps of two workers', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), async (steps) => {
      const workspaceId = randomUUID()
      const model: Model = {
        numbers: [],
        position: 0,
        holder: undefined,
        isLeaseOver: false,
        isStaying: false,
        bound: Infinity,
      }
      for (const next of steps) {
        await carryOut(workspaceId, model, next)
        const waiting = model.numbers.filter((number) => number > model.position)
        const [totals] = await readLogTotals(room.redis, room.prefix, [workspaceId])
        assert.deepEqual(
          [totals!.accepted, totals!.queued, totals!.oldestNumber, totals!.bytes > 0],
          [model.numbers.length, waiting.length, waiting[0] ?? null, waiting.length > 0],
        )
      }
    })
    await fc.assert(property, seeded({ numRuns: 60 }))
  })

  const carryOut = async (workspaceId: string, model: Model, next: Step): Promise<void> => {
    const { state } = workspaceKeys(room.prefix, workspaceId)
    switch (next.step) {
      case 'admit':
        return admit(workspaceId, model, next.isJudged)
      case 'take':
        return take(workspaceId, model, next)
      case 'release':
        await room.log.release(next.worker, [workspaceId])
        if (model.holder === next.worker) model.holder = undefined
        return
      case 'die':
        if (model.holder === undefined) return
        await room.redis.hset(state, 'until', Date.now() - 1)
        model.isLeaseOver = true
        return
      case 'keep-long-enough':
        if (await room.redis.hexists(state, 'redoAt')) await room.redis.hincrby(state, 'redoAt', -KEPT_MS)
        return
      case 'sweep':
        return sweep(workspaceId, model)
    }
  }

  const admit = async (workspaceId: string, model: Model, isJudged: readonly boolean[]): Promise<void> => {
    const requests = isJudged.map((judged) => requestFor({ workspaceId, isJudgedOnly: judged }))
    const answers = await Promise.all(requests.map(room.admit))
    for (const [at, answer] of answers.entries()) {
      if (isJudged[at]) assert.equal(answer.outcome, 'admissible')
      else assert.ok(entered(answer).number > Math.max(model.position, model.numbers.at(-1) ?? 0))
      if (!isJudged[at]) model.numbers.push(entered(answer).number)
    }
  }

  const take = async (workspaceId: string, model: Model, next: Extract<Step, { step: 'take' }>): Promise<void> => {
    const applied = next.applied === null ? undefined : model.numbers.at(-1 - next.applied)
    const rewindTo = next.rewind === null ? undefined : await keptNumber(workspaceId, model, next.rewind)
    const { submissions } = next
    // Only a take without submissions may have no lease.
    const leaseMs = submissions === 0 ? next.leaseMs : 60_000
    const settings = takeSettings({ worker: next.worker, submissions, leaseMs, redoMs: KEPT_MS })
    const [taken] = await room.log.take([{ workspaceId, applied, rewindTo }], settings)
    const hasOtherHolder = model.holder !== undefined && model.holder !== next.worker
    if (hasOtherHolder && !model.isLeaseOver) return assert.deepEqual(taken, { outcome: 'leased' })
    if (hasOtherHolder && !model.isStaying) model.bound = Math.max(1, Math.min(BOUND_AFTER_DEATH, model.bound / 2))
    model.position = Math.max(model.position, applied ?? 0)
    model.position = Math.min(model.position, rewindTo ?? Infinity)
    const waiting = model.numbers.filter((number) => number > model.position)
    const given = waiting.slice(0, Math.min(submissions, model.bound))
    model.isStaying = submissions === 0
    model.holder =
      given.length > 0 || (model.isStaying && leaseMs > 0 && model.numbers.length > 0) ? next.worker : undefined
    model.isLeaseOver = false
    if (waiting.length === 0) return assert.deepEqual(taken, { outcome: 'idle' })
    assert.ok(taken?.outcome === 'taken')
    assert.deepEqual(
      [taken.after, taken.bound, taken.submissions.map(({ number }) => number)],
      [model.position, model.bound, given],
    )
  }

  /** A number whose followers the log still has; undefined if it may have lost some. */
  const keptNumber = async (workspaceId: string, { numbers }: Model, fromEnd: number): Promise<number | undefined> => {
    const [first] = await room.redis.xrange(workspaceKeys(room.prefix, workspaceId).log, '-', '+', 'COUNT', 1)
    const firstKept = Number(first?.[0].split('-', 1)[0] ?? Infinity)
    const number = numbers.at(-1 - fromEnd)
    return number !== undefined && number >= firstKept ? number : undefined
  }

  const sweep = async (workspaceId: string, model: Model): Promise<void> => {
    const given = { workspaceIds: [workspaceId], waitedMs: 0, redoMs: KEPT_MS }
    const toWake = await sweepLogs(room.redis, room.prefix, given)
    const isHeld = model.holder !== undefined && !model.isLeaseOver
    const isWaiting = model.numbers.some((number) => number > model.position)
    assert.equal(toWake.length, isWaiting && !isHeld ? 1 : 0)
  }
})

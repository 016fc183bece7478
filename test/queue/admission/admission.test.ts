import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { createAdmit } from '../../../queue/admission/admit.ts'
import type { Admission, AdmissionRequest } from '../../../queue/admission/call-admit.ts'
import { MICROSECONDS_PER_MS, workspaceKeys } from '../../../queue/keys.ts'
import { readLogTotals } from '../../../queue/log/log-totals.ts'
import type { WakeSize } from '../../../queue/jobs/job-queues.ts'
import { requestFor, entered, openQueueRoom, takeSettings, noWake, UNUSED } from '../../support/queue-room.ts'

const TOKENS = 10
const AT_ONCE = 200
const MOST_OF_A_CALL = 64
const DEEP = 250
const LARGE = JSON.stringify({ description: 'x'.repeat(100_000) })

describe('submissions that are admitted together', () => {
  const room = openQueueRoom()
  after(() => room.close())

  const namesOf = (workspaceId: string) => workspaceKeys(room.prefix, workspaceId)
  /** Admits in one tick of the event loop, so that the submissions share calls. */
  const together = (requests: readonly AdmissionRequest[]): Promise<Admission[]> =>
    Promise.all(requests.map((request) => room.admit(request)))
  const outcomes = (admitted: readonly Admission[]): Admission['outcome'][] => admitted.map(({ outcome }) => outcome)
  const numberOf = (admission: Admission | undefined): number => entered(admission).number
  const entriesOf = (workspaceId: string): Promise<number> => room.redis.xlen(namesOf(workspaceId).log)
  const totalsOf = async (workspaceId: string) => (await readLogTotals(room.redis, room.prefix, [workspaceId]))[0]!

  it('get no number at or below the floor, which is read right before the call', async () => {
    const workspaceId = randomUUID()
    let floor = 10 ** 15 * 4
    const admit = room.admitAbove(async () => floor)
    const admission = admit(requestFor({ workspaceId }))
    floor += 10
    assert.equal(numberOf(await admission), floor + 1)
    assert.equal(numberOf(await room.admit(requestFor({ workspaceId }))), floor + 2)
  })

  it('get separate numbers in their order of arrival', async () => {
    const workspaceId = randomUUID()
    const requests = Array.from({ length: AT_ONCE }, (_, index) =>
      requestFor({ workspaceId, bodyText: `{"description":"${index}"}` }),
    )
    const admitted = (await together(requests)).map(entered)
    const numbers = admitted.map(({ number }) => number)
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
    )
    assert.ok(numberOf(await room.admit(requestFor({ workspaceId }))) > numbers.at(-1)!)
    const queued = (await Array.fromAsync(room.log.readWaiting(workspaceId))).slice(0, AT_ONCE)
    assert.deepEqual(
      queued.map(({ submissionId, number, body }) => ({ submissionId, number, body })),
      admitted.map(({ submissionId, number }, index) => ({ submissionId, number, body: { description: `${index}` } })),
    )
    const { accepted, queued: waiting, oldestNumber } = await totalsOf(workspaceId)
    assert.deepEqual([accepted, waiting, oldestNumber], [AT_ONCE + 1, AT_ONCE + 1, numbers[0]])
  })

  it('become one entry of the log per call, which leaves out judged and refused requests', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: 1, windowMs: 60_000 }
    const limited = requestFor({ workspaceId, operation: 'identify_account', limit })
    const requests = Array.from({ length: MOST_OF_A_CALL }, () => requestFor({ workspaceId }))
    requests.splice(3, 3, requestFor({ workspaceId, isJudgedOnly: true }), limited, limited)
    const admitted = await together(requests)
    assert.deepEqual(outcomes(admitted.slice(3, 6)), ['admissible', 'admitted', 'rate-limited'])
    const inLog = admitted.filter(({ outcome }) => outcome === 'admitted').map(entered)
    assert.deepEqual(
      inLog.map(({ number }) => number - inLog[0]!.number),
      requests.flatMap((_, index) => (index === 3 || index === 5 ? [] : index)),
    )
    assert.equal(await entriesOf(workspaceId), 1)
    const waiting = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.deepEqual(
      waiting.map(({ submissionId, number }) => ({ submissionId, number })),
      inLog.map(({ submissionId, number }) => ({ submissionId, number })),
    )
  })

  it('have ids with the time of their acceptance', async () => {
    const { submissionId, number } = entered(await room.admit(requestFor({ workspaceId: randomUUID() })))
    assert.match(submissionId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{9}001$/)
    const time = Number.parseInt(submissionId.replaceAll('-', '').slice(0, 12), 16)
    assert.equal(time, Math.floor(number / MICROSECONDS_PER_MS))
  })

  it('are limited separately by operation and workspace, and not at all without a limit', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: 1, windowMs: 60_000 }
    const admitted = await together([
      requestFor({ workspaceId, limit, isJudgedOnly: true }),
      requestFor({ workspaceId, limit, isJudgedOnly: true }),
      requestFor({ workspaceId, limit }),
      requestFor({ workspaceId, limit, isJudgedOnly: true }),
      requestFor({ workspaceId, limit, operation: 'identify_contact' }),
      requestFor({ workspaceId: randomUUID(), limit }),
      requestFor({ workspaceId }),
    ])
    assert.deepEqual(outcomes(admitted), [
      'admissible',
      'admissible',
      'admitted',
      'rate-limited',
      'admitted',
      'admitted',
      'admitted',
    ])
  })

  it('leave no key when none is admitted', async () => {
    const workspaceId = randomUUID()
    await together([requestFor({ workspaceId, isJudgedOnly: true }), requestFor({ workspaceId, isJudgedOnly: true })])
    assert.deepEqual(await room.keysOf(workspaceId), [])
  })

  it('spend one token with a large body, and enter the log with the whole body', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: 1, windowMs: 60_000 }
    const large = requestFor({ workspaceId, limit, bodyText: LARGE })
    const admission = entered(await room.admit(large))
    assert.equal((await room.admit(large)).outcome, 'rate-limited')
    assert.equal((await room.admit({ ...large, limit: undefined, isJudgedOnly: true })).outcome, 'admissible')
    const waiting = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.deepEqual(
      waiting.map(({ submissionId, body }) => [submissionId, JSON.stringify(body)]),
      [[admission.submissionId, LARGE]],
    )
  })

  it('are not sent with a large body while their workspace has too many bytes waiting', async () => {
    const workspaceId = randomUUID()
    await room.admit(requestFor({ workspaceId }))
    const { prefix } = room
    const real = room.redis as unknown as { admit: (...sent: readonly unknown[]) => Promise<string[]> }
    const lengths: number[] = []
    const counting = (...sent: readonly unknown[]): Promise<string[]> => {
      lengths.push(sent.join('').length)
      return real.admit(...sent)
    }
    const redis = { defineCommand: () => {}, admit: counting } as unknown as typeof room.redis
    const admit = createAdmit({ redis, prefix, wake: noWake, findStoredKey: async () => UNUSED })
    const large = requestFor({ workspaceId, bodyText: LARGE, mostBytes: 50 })
    assert.equal((await admit(large)).outcome, 'full')
    assert.deepEqual([lengths.length, lengths[0]! < LARGE.length], [1, true])
  })

  it('do not count against a limit if they were admitted before the clock of Redis was set back', async () => {
    const workspaceId = randomUUID()
    const limit = { tokens: TOKENS, windowMs: 60_000 }
    const ahead = (Date.now() + 3_600_000) * MICROSECONDS_PER_MS
    const bucket = namesOf(workspaceId).bucket('create_feedback')
    await room.redis.lpush(bucket, ...Array.from({ length: TOKENS }, (_, index) => ahead + index))
    const admitted = await together(Array.from({ length: TOKENS + 1 }, () => requestFor({ workspaceId, limit })))
    assert.deepEqual(outcomes(admitted), [...Array<string>(TOKENS).fill('admitted'), 'rate-limited'])
  })

  it('are refused while their workspace has too many bytes waiting', async () => {
    const workspaceId = randomUUID()
    const bounded = requestFor({ workspaceId, mostBytes: 50 })
    assert.equal((await room.admit(bounded)).outcome, 'admitted')
    assert.equal((await room.admit(bounded)).outcome, 'full')
    await room.noteAllApplied(workspaceId)
    assert.equal((await room.admit(bounded)).outcome, 'admitted')
  })

  it('learn whether submissions wait before them, and whether an identify or a purge does', async () => {
    const workspaceId = randomUUID()
    const stateOf = (admission: Admission | undefined) =>
      admission !== undefined &&
      'isLogEmpty' in admission && [admission.isLogEmpty, admission.isIdentifyWaiting, admission.isPurgeWaiting]
    const purge = requestFor({ workspaceId, operation: 'purge_contact' })
    const peek = requestFor({ workspaceId, isJudgedOnly: true })
    const identify = requestFor({ workspaceId, operation: 'identify_contact' })
    const waiting = await together([peek, requestFor({ workspaceId }), identify, peek])
    assert.deepEqual(waiting.map(stateOf), [
      [true, false, false],
      [true, false, false],
      [false, false, false],
      [false, true, false],
    ])
    await room.noteAllApplied(workspaceId)
    await room.admit(requestFor({ workspaceId }))
    const purges = await together([requestFor({ workspaceId }), purge, purge, requestFor({ workspaceId })])
    assert.deepEqual(purges.map(stateOf), [
      [false, false, false],
      [false, false, false],
      [false, false, true],
      [false, false, true],
    ])
    await room.noteAllApplied(workspaceId)
    assert.deepEqual(stateOf(await room.admit(peek)), [true, false, false])
  })

  it('share no entry with a purge', async () => {
    const workspaceId = randomUUID()
    const purge = requestFor({ workspaceId, operation: 'purge_contact' })
    await together([
      requestFor({ workspaceId }),
      requestFor({ workspaceId }),
      purge,
      purge,
      requestFor({ workspaceId }),
    ])
    assert.equal(await entriesOf(workspaceId), 4)
  })

  it('carry the noted position at their admission', async () => {
    const workspaceId = randomUUID()
    const { number } = entered(await room.admit(requestFor({ workspaceId })))
    await room.noteAllApplied(workspaceId)
    await room.admit(requestFor({ workspaceId }))
    const waiting = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.deepEqual(
      waiting.map(({ seenPosition }) => seenPosition),
      [number],
    )
  })

  describe('a wake', () => {
    const waking = () => {
      const woken: WakeSize[] = []
      const wake = { wake: async (_: string, size: WakeSize) => void woken.push(size) }
      const { redis, prefix } = room
      return { woken, admit: createAdmit({ redis, prefix, wake, findStoredKey: async () => UNUSED }) }
    }

    it('is added once for each call that admits, and is deep if more than 250 submissions wait in the log', async () => {
      const workspaceId = randomUUID()
      const { woken, admit } = waking()
      await admit(requestFor({ workspaceId, isJudgedOnly: true }))
      assert.equal(woken.length, 0)
      const requests = [
        requestFor({ workspaceId }),
        requestFor({ workspaceId }),
        requestFor({ workspaceId, isJudgedOnly: true }),
      ]
      await Promise.all(requests.map(admit))
      assert.deepEqual(woken, [{ submissions: 2, isDeep: false }])
      await Promise.all(Array.from({ length: DEEP }, () => admit(requestFor({ workspaceId }))))
      assert.equal(woken.at(-1)?.isDeep, true)
      const submissions = woken.reduce((sum, load) => sum + load.submissions, 0)
      assert.equal(submissions, DEEP + 2)
    })

    it('is not added while a worker holds the log: the worker sees new submissions at its next take', async () => {
      const workspaceId = randomUUID()
      const { woken, admit } = waking()
      const { number } = entered(await admit(requestFor({ workspaceId })))
      assert.equal(woken.length, 1)
      await room.log.take([{ workspaceId }], takeSettings())
      await admit(requestFor({ workspaceId }))
      assert.equal(woken.length, 1)
      const [next] = await room.log.take([{ workspaceId, applied: number }], takeSettings())
      assert.equal(next?.outcome === 'taken' && next.submissions.length, 1)
      await room.log.release(takeSettings().worker, [workspaceId])
      await admit(requestFor({ workspaceId }))
      assert.equal(woken.length, 2)
    })

    it('is added for an identify or a purge while a worker stays, for which a worker that applies does not stay', async () => {
      const workspaceId = randomUUID()
      const { woken, admit } = waking()
      const stay = async (applied: number) => {
        const [left] = await room.log.take([{ workspaceId, applied }], { ...takeSettings(), submissions: 0 })
        return left?.outcome
      }
      let { number } = entered(await admit(requestFor({ workspaceId })))
      for (const operation of ['identify_contact', 'purge_contact'] as const) {
        await room.log.take([{ workspaceId }], takeSettings())
        const before = woken.length
        const awaited = entered(await admit(requestFor({ workspaceId, operation })))
        assert.equal(woken.length, before)
        assert.equal(await stay(number), 'awaited')
        assert.equal(await stay(awaited.number), 'idle')
        await admit(requestFor({ workspaceId }))
        assert.equal(woken.length, before)
        number = entered(await admit(requestFor({ workspaceId, operation }))).number
        assert.equal(woken.length, before + 1)
      }
    })
  })

  it('all fail if their call fails, and none has entered', async () => {
    const workspaceId = randomUUID()
    const name = namesOf(workspaceId)
    await room.redis.set(name.log, 'no stream')
    const failed = await Promise.allSettled(
      Array.from({ length: AT_ONCE }, () => room.admit(requestFor({ workspaceId }))),
    )
    assert.ok(failed.every(({ status }) => status === 'rejected'))
    assert.equal(await room.redis.exists(name.state), 0)
    await room.redis.unlink(name.log)
    assert.equal((await room.admit(requestFor({ workspaceId }))).outcome, 'admitted')
  })
})

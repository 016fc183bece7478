import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { hashKeyFrom } from '../../../contract/identity/keys.ts'
import { type IdempotencyRecord, type KeyState, OPERATIONS } from '../../../contract/submission.ts'
import { IDEMPOTENCY_SECONDS } from '../../../contract/limits.ts'
import { createAdmit } from '../../../queue/admission/admit.ts'
import type { AdmissionRequest } from '../../../queue/admission/call-admit.ts'
import {
  fairShare,
  freeIdempotencyKeys,
  idempotencyOf,
  recordBegin,
  trimIdempotencyKeys,
} from '../../../queue/admission/idempotency.ts'
import { groupOf, GROUPS, workspaceKeys } from '../../../queue/keys.ts'
import { seeded } from '../../support/property-seed.ts'
import { removeKeys } from '../../support/service.ts'
import { requestFor, type Entered, entered, openQueueRoom, noWake, UNUSED } from '../../support/queue-room.ts'

/** The memory of Redis that permits one key in the books. */
const MEMORY_BYTES_PER_KEY = 1_400
/** Permits no key. 0 would mean that there is no bound. */
const LEAST_MEMORY_BYTES = 1
const DAY_MICROSECONDS = IDEMPOTENCY_SECONDS * 1_000_000
const MINUTE_MICROSECONDS = 60_000_000
const BODY = 'body-hash'

const formerOf = (record: IdempotencyRecord): KeyState => ({ state: 'former', record })

describe('an idempotency key', () => {
  const room = openQueueRoom()
  after(() => room.close())

  const namesOf = (workspaceId: string) => workspaceKeys(room.prefix, workspaceId)
  const withKey = (workspaceId: string, key = 'key', given: Partial<AdmissionRequest> = {}) =>
    requestFor({ workspaceId, idempotency: { key, body: BODY }, ...given })
  const keysIn = async (workspaceId: string): Promise<string[]> =>
    (await room.redis.hkeys(namesOf(workspaceId).idempotency)).toSorted()
  const nowMicroseconds = async (): Promise<number> => {
    const [seconds, microseconds] = await room.redis.time()
    return Number(seconds) * 1_000_000 + Number(microseconds)
  }
  const remember = (workspaceId: string, record: IdempotencyRecord) =>
    room.redis.hset(namesOf(workspaceId).idempotency, 'key', recordBegin(record) + record.number.toString(16))
  /** An API process that finds `stored` in Postgres. `lookedUp`: the keys of its look-ups there. */
  const apiWith = (stored: KeyState, floor = 0) => {
    const lookedUp: string[] = []
    const findStoredKey = async (_: string, key: string) => {
      lookedUp.push(key)
      return stored
    }
    const { redis, prefix } = room
    const floorOf = async (): Promise<number> => floor
    const admit = createAdmit({ redis, prefix, wake: noWake, floorOf, findStoredKey })
    return { admit, lookedUp }
  }
  const trim = (maxBytes: number) =>
    trimIdempotencyKeys(room.redis, room.prefix, { group: GROUPS[0]!, maxBytes, nowMs: Date.now() })
  const admitAndApply = async (workspaceId: string, key: string): Promise<Entered> => {
    const admission = entered(await room.admit(withKey(workspaceId, key)))
    await room.noteAllApplied(workspaceId)
    return admission
  }
  /** A workspace whose book no longer has the key. */
  const afterTrimming = async (): Promise<{ workspaceId: string; first: IdempotencyRecord }> => {
    const workspaceId = randomUUID()
    const { submissionId, number } = await admitAndApply(workspaceId, 'key')
    await trim(LEAST_MEMORY_BYTES)
    assert.deepEqual(await keysIn(workspaceId), [])
    return { workspaceId, first: { body: BODY, submissionId, number } }
  }

  it('is accepted once, even among simultaneous requests', async () => {
    const workspaceId = randomUUID()
    const [first, second, other, another] = await Promise.all([
      room.admit(withKey(workspaceId)),
      room.admit(withKey(workspaceId)),
      room.admit(requestFor({ workspaceId, idempotency: { key: 'key', body: 'otherhash' } })),
      room.admit(withKey(workspaceId, 'another')),
    ])
    const { submissionId, number } = entered(first)
    const again = entered(second)
    assert.deepEqual([again.outcome, again.submissionId, again.number], ['repeated', submissionId, number])
    assert.deepEqual([other.outcome, another.outcome], ['other-body', 'admitted'])
    const peeked = entered(await room.admit(withKey(workspaceId, 'key', { isJudgedOnly: true })))
    assert.deepEqual([peeked.outcome, peeked.submissionId], ['repeated', submissionId])
    assert.equal((await room.admit(withKey(workspaceId, 'key', { isJudgedOnly: true }))).outcome, 'repeated')
    const elsewhere = randomUUID()
    // A judged submission does not use up its key.
    assert.equal((await room.admit(withKey(elsewhere, 'key', { isJudgedOnly: true }))).outcome, 'admissible')
    assert.equal((await room.admit(withKey(elsewhere))).outcome, 'admitted')
    assert.equal((await Array.fromAsync(room.log.readWaiting(workspaceId))).length, 2)
  })

  it('spends no token of the limit when it is repeated', async () => {
    const workspaceId = randomUUID()
    const limited = withKey(workspaceId, 'key', { limit: { tokens: 1, windowMs: 60_000 } })
    const outcomes = [await room.admit(limited), await room.admit(limited)].map(({ outcome }) => outcome)
    assert.deepEqual(outcomes, ['admitted', 'repeated'])
  })

  it('counts for a day after its submission was accepted', async () => {
    const workspaceId = randomUUID()
    const first = { body: BODY, submissionId: randomUUID() }
    const now = await nowMicroseconds()
    await remember(workspaceId, { ...first, number: now - DAY_MICROSECONDS + MINUTE_MICROSECONDS })
    assert.equal(entered(await room.admit(withKey(workspaceId))).submissionId, first.submissionId)
    await remember(workspaceId, { ...first, number: now - DAY_MICROSECONDS })
    assert.equal((await room.admit(withKey(workspaceId))).outcome, 'admitted')
  })

  describe('that has left the book', () => {
    it('is found in Postgres, and leads to the first submission', async () => {
      const { workspaceId, first } = await afterTrimming()
      const { admit, lookedUp } = apiWith(formerOf(first))
      const again = entered(await admit(withKey(workspaceId)))
      assert.deepEqual(
        [again.outcome, again.submissionId, again.number],
        ['repeated', first.submissionId, first.number],
      )
      const other = await admit(requestFor({ workspaceId, idempotency: { key: 'key', body: 'otherhash' } }))
      const peeked = await admit(withKey(workspaceId, 'key', { isJudgedOnly: true }))
      assert.deepEqual([other.outcome, peeked.outcome], ['other-body', 'repeated'])
      assert.deepEqual(lookedUp, ['key', 'key', 'key'])
    })

    it('is accepted once if it is not in Postgres either, or Postgres is away', async () => {
      for (const stored of [UNUSED, { state: 'unknown' } as const]) {
        const { workspaceId } = await afterTrimming()
        const { admit } = apiWith(stored)
        const outcomes = await Promise.all(Array.from({ length: 3 }, () => admit(withKey(workspaceId))))
        assert.deepEqual(
          outcomes.map(({ outcome }) => outcome),
          ['admitted', 'repeated', 'repeated'],
        )
      }
    })

    it('does not count if Postgres has it from more than a day ago', async () => {
      const { workspaceId, first } = await afterTrimming()
      const { admit } = apiWith(formerOf({ ...first, number: (await nowMicroseconds()) - DAY_MICROSECONDS }))
      assert.equal((await admit(withKey(workspaceId))).outcome, 'admitted')
    })

    it('makes the API look up each key of the workspace in Postgres for a while', async () => {
      const { workspaceId } = await afterTrimming()
      const { admit, lookedUp } = apiWith(UNUSED)
      await admit(withKey(workspaceId, 'one'))
      await admit(withKey(workspaceId, 'one'))
      await admit(withKey(workspaceId, 'two'))
      await admit(requestFor({ workspaceId }))
      await admit(withKey(randomUUID(), 'three'))
      assert.deepEqual(lookedUp, ['one', 'one', 'two'])
    })

    it('is not looked up again after a peek found it unused, so that no later submission overtakes', async () => {
      const { workspaceId } = await afterTrimming()
      const { admit, lookedUp } = apiWith(UNUSED)
      const keyed = withKey(workspaceId, 'new')
      const judged = await admit({ ...keyed, isJudgedOnly: true })
      assert.equal(judged.outcome, 'admissible')
      const both = await Promise.all([admit({ ...keyed, judged }), admit(requestFor({ workspaceId }))])
      const [first, second] = both.map((admission) => entered(admission).number)
      assert.ok(first! < second!)
      assert.deepEqual(lookedUp, ['new'])
    })

    it('is not looked up once all keys that left the book are older than a day', async () => {
      const { workspaceId } = await afterTrimming()
      const { state } = namesOf(workspaceId)
      await room.redis.hset(state, 'forgotten', String((await nowMicroseconds()) - DAY_MICROSECONDS))
      const { admit, lookedUp } = apiWith(UNUSED)
      assert.equal((await admit(withKey(workspaceId))).outcome, 'admitted')
      assert.deepEqual(lookedUp, [])
    })

    it('is looked up after Redis has lost data, as a higher number in Postgres shows', async () => {
      const workspaceId = randomUUID()
      const first = { body: BODY, submissionId: randomUUID(), number: await nowMicroseconds() }
      const { admit, lookedUp } = apiWith(formerOf(first), first.number)
      assert.equal((await room.admit(withKey(workspaceId, 'new'))).outcome, 'admitted')
      await room.redis.unlink(namesOf(workspaceId).state, namesOf(workspaceId).idempotency)
      const again = entered(await admit(withKey(workspaceId)))
      assert.deepEqual([again.outcome, again.submissionId], ['repeated', first.submissionId])
      assert.deepEqual(lookedUp, ['key'])
    })
  })

  describe('leaves the book', () => {
    // The bound is for all books together.
    beforeEach(() => removeKeys(room.redis, room.prefix))

    it('after a day, unless its submission is queued', async () => {
      const workspaceId = randomUUID()
      for (const key of ['a', 'b']) await admitAndApply(workspaceId, key)
      await room.admit(withKey(workspaceId, 'queued'))
      const nowMs = Date.now() + IDEMPOTENCY_SECONDS * 1_000
      const settings = { group: groupOf(workspaceId), maxBytes: 0 }
      await trimIdempotencyKeys(room.redis, room.prefix, { ...settings, nowMs: nowMs - 60_000 })
      assert.deepEqual(await keysIn(workspaceId), ['a', 'b', 'queued'])
      await trimIdempotencyKeys(room.redis, room.prefix, { ...settings, nowMs: nowMs + 60_000 })
      assert.deepEqual(await keysIn(workspaceId), ['queued'])
    })

    it('when there are too many, the oldest of the largest book first, and never the key of a queued submission', async () => {
      const [large, small] = [randomUUID(), randomUUID()]
      for (const key of ['c', 'a', 'd', 'b']) await admitAndApply(large, key)
      await room.admit(withKey(large, 'queued'))
      for (const key of ['e', 'f']) await admitAndApply(small, key)
      await trim(5 * MEMORY_BYTES_PER_KEY)
      assert.deepEqual(
        [await keysIn(large), await keysIn(small)],
        [
          ['b', 'd', 'queued'],
          ['e', 'f'],
        ],
      )
      await trim(LEAST_MEMORY_BYTES)
      assert.deepEqual([await keysIn(large), await keysIn(small)], [['queued'], []])
      assert.equal((await room.admit(withKey(large, 'queued'))).outcome, 'repeated')
    })

    it('with its latest submission, not with a former one from which it was freed', async () => {
      const workspaceId = randomUUID()
      const first = await admitAndApply(workspaceId, 'key')
      const keys = [{ key: 'key', number: first.number }]
      await freeIdempotencyKeys(room.redis, room.prefix, { workspaceId, keys })
      const second = entered(await room.admit(withKey(workspaceId)))
      assert.equal(second.outcome, 'admitted')
      await trim(LEAST_MEMORY_BYTES)
      assert.equal(entered(await room.admit(withKey(workspaceId))).submissionId, second.submissionId)
    })

    it('in steps, for any number of keys', async () => {
      const workspaceId = randomUUID()
      const count = 2_500
      await Promise.all(Array.from({ length: count }, (_, at) => room.admit(withKey(workspaceId, `key-${at}`))))
      const { keyOrder } = namesOf(workspaceId)
      const calls = await room.redis.llen(keyOrder)
      await room.noteAllApplied(workspaceId)
      assert.equal((await keysIn(workspaceId)).length, count)
      await trim(250 * MEMORY_BYTES_PER_KEY)
      const left = await keysIn(workspaceId)
      assert.ok(left.length <= 250 && left.length > 100, String(left.length))
      assert.ok(left.includes(`key-${count - 1}`))
      assert.ok((await room.redis.llen(keyOrder)) < calls)
    })
  })

  it('can be freed only while it leads to the submission with this number', async () => {
    const workspaceId = randomUUID()
    const { number } = entered(await room.admit(withKey(workspaceId)))
    const free = (...keys: { key: string; number: number }[]) =>
      freeIdempotencyKeys(room.redis, room.prefix, { workspaceId, keys })
    await free()
    await free({ key: 'key', number: number - 1 }, { key: 'key', number: number + 1 }, { key: 'none', number })
    assert.equal((await room.admit(withKey(workspaceId))).outcome, 'repeated')
    await free({ key: 'key', number })
    assert.equal((await room.admit(withKey(workspaceId))).outcome, 'admitted')
  })

  it('is hashed together with its operation, to a short text', () => {
    const hashKey = hashKeyFrom('5a'.repeat(32))
    const hashed = (given: object) =>
      idempotencyOf(hashKey, { operation: 'create_feedback', key: 'key', bodyText: '{}', ...given })
    assert.deepEqual(hashed({}), hashed({}))
    assert.deepEqual([hashed({}).key.length, hashed({}).body.length], [22, 9])
    assert.equal(new Set(OPERATIONS.map((operation) => hashed({ operation }).key)).size, OPERATIONS.length)
    assert.equal(hashed({ bodyText: '[]' }).key, hashed({}).key)
    assert.notEqual(hashed({ bodyText: '[]' }).body, hashed({}).body)
    assert.notEqual(hashed({ key: 'other' }).key, hashed({}).key)
  })
})

describe('a fair share', () => {
  it('is the largest bound for which the parts fit the whole', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1_000 })), fc.nat({ max: 5_000 }), (sizes, most) => {
        const cutTo = (share: number): number => sizes.reduce((sum, size) => sum + Math.min(size, share), 0)
        const share = fairShare(sizes, most)
        assert.ok(cutTo(share) <= most)
        if (cutTo(Infinity) > most) assert.ok(cutTo(share + 1) > most)
        else assert.equal(cutTo(share), cutTo(Infinity))
      }),
      seeded(),
    )
  })
})

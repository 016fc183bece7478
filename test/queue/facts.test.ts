import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { Saying, Sayings } from '../../contract/identity/sayings.ts'
import { batchIdOf, submissionIdIn } from '../../queue/batch.ts'
import { admissionKeys, compactId } from '../../queue/keys.ts'
import { queuedFactsIn } from '../../queue/queued-facts.ts'
import { seeded } from '../support/property-seed.ts'
import { asked, type Entered, entered, openQueueRoom } from '../support/queue-room.ts'
import { assertTold, type BooksModel, emptyBooks, leave, settledArguments, take, type Waiting } from './books-model.ts'

const SEQUENCES = process.env['TEST_SIZE'] === 'long' ? 2_000 : 100
const MOST_STEPS = 40
const SAME = 6_000
/** More than a script reads or writes at a time, and no multiple of it. */
const MANY = 2_503
const DIFFERENT = 45

const [EMAIL, GROUP, RECORD] = [randomUUID(), randomUUID(), randomUUID()]
const KEYS = [EMAIL, GROUP, RECORD]
const GIVEN: Saying = { kind: 'given', unless: null }
const claims = (id: string): Saying => ({ kind: 'claim', id, group: GROUP, bare: false })

const aboutKeys = fc.uniqueArray(
  fc.record({ keyId: fc.constantFrom(EMAIL, GROUP), saying: fc.constantFrom(GIVEN, GIVEN, claims('1'), claims('2')) }),
  { maxLength: 2, selector: ({ keyId }) => keyId },
)
const newIds = fc.subarray([
  { id: RECORD, of: 'record' },
  { id: GROUP, of: 'group' },
])
const sayings: fc.Arbitrary<Sayings> = fc.record({
  newIds,
  aboutKeys: aboutKeys.map((about) => about.map(({ keyId, saying }) => ({ keyId, sayings: [saying] }))),
})
const which = fc.nat({ max: 1_000 })
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('admit'), all: fc.array(sayings, { minLength: 1, maxLength: 4 }) }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('settle'), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('purge'),
      all: fc.tuple(sayings.map((said) => ({ ...said, newIds: [] }))),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('decide'), which }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('put'), which }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('split'), which }) },
) as fc.Arbitrary<
  { does: 'admit' | 'purge'; all: Sayings[] } | { does: 'settle' | 'decide' | 'put' | 'split'; which: number }
>
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

describe('what queued submissions say', () => {
  let room: ReturnType<typeof openQueueRoom>
  before(() => {
    room = openQueueRoom()
  })
  after(() => room.close())

  const lookUp = (workspaceId: string) => queuedFactsIn(room.redis, room.prefix)(workspaceId, KEYS)
  const assertNow = async (workspaceId: string, model: BooksModel): Promise<void> =>
    assertTold(model, KEYS, await lookUp(workspaceId))

  const admitTogether = async (
    workspaceId: string,
    model: BooksModel,
    { does, all }: Extract<Step, { all: Sayings[] }>,
  ): Promise<Waiting> => {
    const isPurge = does === 'purge'
    const operation = isPurge ? 'purge_contact' : 'create_feedback'
    const admitted = await Promise.all(
      all.map((said) => room.admit(asked({ workspaceId, operation, sayings: said, lookUp: KEYS }))),
    )
    assertTold(model, KEYS, entered(admitted[0]).queued)
    const batchId = batchIdOf(entered(admitted[0]).submissionId)
    const { submissions } = (await room.books.read({ workspaceId, batchId }))!
    const said = submissions.map((batched, at) => ({ ...batched, sayings: all[at]! }))
    const batch = { batchId, isPurge, isDecided: false, said }
    if (isPurge) model.undecided.add(said[0]!.submission.number)
    take(model, batch)
    return batch
  }

  const settle = async (workspaceId: string, model: BooksModel, batch: Waiting): Promise<void> => {
    // Twice, as by a worker that died before it heard that it was done.
    for (let times = 0; times < 2; times++) await room.books.settle([settledArguments(workspaceId, batch)])
    leave(model, batch)
  }

  const carryOut = async (workspaceId: string, model: BooksModel, one: Exclude<Step, { all: Sayings[] }>) => {
    const { waiting, settled } = model
    const drawn = <T>(among: readonly T[]): T | undefined => among[one.which % among.length]
    switch (one.does) {
      case 'settle': {
        const batch = drawn(waiting.slice(1))
        if (batch) await settle(workspaceId, model, batch)
        return
      }
      case 'decide': {
        const purge = drawn(waiting.filter(({ isPurge, isDecided }) => isPurge && !isDecided))
        if (!purge) return
        for (let times = 0; times < 2; times++) await room.books.decide([settledArguments(workspaceId, purge)])
        purge.isDecided = true
        model.undecided.delete(purge.said[0]!.submission.number)
        return
      }
      case 'put': {
        const said = drawn(settled)
        if (!said) return
        for (let times = 0; times < 2; times++) await room.books.put(said, said.sayings)
        model.settled = settled.filter((other) => other !== said)
        const isPurge = said.submission.operation === 'purge_contact'
        take(model, { batchId: said.submission.submissionId, isPurge, isDecided: false, said: [said] })
        return
      }
      case 'split': {
        const batch = drawn(waiting.filter(({ said }) => said.length > 1))
        if (!batch) return
        for (let times = 0; times < 2; times++) await room.books.split(settledArguments(workspaceId, batch).batch)
        const ones = batch.said.map((said) => ({ ...batch, batchId: said.submission.submissionId, said: [said] }))
        model.waiting = model.waiting.flatMap((other) => (other === batch ? ones : [other]))
      }
    }
  }

  it(`is told as a list of all sayings would tell it, in ${SEQUENCES} sequences, and nothing is left of it`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: MOST_STEPS, size: 'max' }),
        fc.infiniteStream(which),
        async (steps, order) => {
          const workspaceId = randomUUID()
          const model = emptyBooks()
          // It stays to the end: an empty book forgets all that was said, and would hide what is left.
          const pinned = { newIds: [], aboutKeys: [] }
          await admitTogether(workspaceId, model, { does: 'admit', all: [pinned] })
          for (const one of steps) {
            if ('all' in one) await admitTogether(workspaceId, model, one)
            else await carryOut(workspaceId, model, one)
            await assertNow(workspaceId, model)
            await assertCounted(workspaceId, model)
          }
          for (const place of order) {
            if (model.waiting.length === 1) break
            await settle(workspaceId, model, model.waiting[1 + (place % (model.waiting.length - 1))]!)
            await assertNow(workspaceId, model)
          }
          const left = await room.keysOf(workspaceId)
          assert.deepEqual(left, [`batch:${model.waiting[0]!.batchId}`, 'ledger', 'number', 'outbox', 'outstanding'])
          await settle(workspaceId, model, model.waiting[0]!)
          assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
          await assertCounted(workspaceId, model)
        },
      ),
      seeded({ numRuns: SEQUENCES }),
    )
  })

  const assertCounted = async (workspaceId: string, { waiting }: BooksModel): Promise<void> => {
    const name = admissionKeys(room.prefix, workspaceId)
    const [queued, outstanding, removing] = await Promise.all([
      room.redis.hget(name.ledger, 'queued'),
      room.redis.zrange(name.outstanding, '0', '-1', 'WITHSCORES'),
      room.redis.zcard(name.removing),
    ])
    const undecided = waiting.filter(({ isDecided }) => !isDecided)
    assert.equal(Number(queued), waiting.flatMap(({ said }) => said).length)
    assert.deepEqual(
      outstanding,
      undecided
        .map(({ batchId, said }) => [batchId, said[0]!.submission.number] as const)
        .toSorted(([, a], [, b]) => a - b)
        .flatMap(([batchId, number]) => [batchId, String(number)]),
    )
    assert.equal(removing, waiting.length - undecided.length)
  }

  it(`is told and taken back when one submission says ${MANY} things, of which others said some`, async () => {
    const workspaceId = randomUUID()
    const ids = Array.from({ length: MANY }, () => randomUUID())
    const saying = (at: number, of: string): Saying => (at % 2 === 0 ? GIVEN : claims(`${at} ${of}`))
    const about = (places: readonly number[], of: string): Sayings => ({
      newIds: places.map((at) => ({ id: ids[at]!, of: at % 10 === 0 ? 'project' : GROUP })),
      aboutKeys: places.map((at) => ({ keyId: ids[at]!, sayings: [saying(at, of)] })),
    })
    const places = ids.map((_, at) => at)
    const some = places.filter((at) => at % 7 === 0 || at === MANY - 1)
    const told = async () => {
      const facts = await queuedFactsIn(room.redis, room.prefix)(workspaceId, ids)
      return ids.map((id) => facts.get(id)!)
    }
    const [early, many, late] = [about(some, 'before'), about(places, 'many'), about(some, 'after')]
    const first = entered(await room.admit(asked({ workspaceId, sayings: early })))
    const second = entered(await room.admit(asked({ workspaceId, sayings: many })))
    const third = entered(await room.admit(asked({ workspaceId, sayings: late })))
    const expected = (isQueued: { first: boolean; second: boolean; third: boolean }) =>
      places.map((at) => {
        const isSome = some.includes(at)
        const numbers = [
          ...(isSome && isQueued.first ? [{ number: first.number, of: 'before' }] : []),
          ...(isQueued.second ? [{ number: second.number, of: 'many' }] : []),
          ...(isSome && isQueued.third ? [{ number: third.number, of: 'after' }] : []),
        ]
        const said = numbers.map(({ number, of }) => ({ number, sayings: [saying(at, of)] }))
        // The same that is said three times is told as it was said first and last.
        return said.length === 3 && at % 2 === 0 ? [said[0]!, said[2]!] : said
      })
    const said = async () => (await told()).map((facts) => facts.said)
    assert.deepEqual(await said(), expected({ first: true, second: true, third: true }))
    const existFrom = (at: number, last: number): number =>
      !some.includes(at) ? second.number : at % 10 === 0 ? first.number : last
    assert.deepEqual(
      (await told()).map(({ existsFrom }) => existsFrom),
      places.map((at) => existFrom(at, third.number)),
    )
    await room.settle(workspaceId, second.submissionId, many)
    const left = await told()
    assert.deepEqual(
      left.map((facts) => facts.said),
      expected({ first: true, second: false, third: true }),
    )
    assert.deepEqual(
      left.map(({ existsFrom }) => existsFrom),
      places.map((at) => (some.includes(at) ? existFrom(at, third.number) : null)),
    )
    await room.settle(workspaceId, first.submissionId, early)
    await room.admit(asked({ workspaceId }))
    await room.settle(workspaceId, third.submissionId, late)
    const { facts, exists } = admissionKeys(room.prefix, workspaceId)
    assert.deepEqual(await room.redis.exists(facts, exists), 0)
    assert.deepEqual(await said(), expected({ first: false, second: false, third: false }))
  })

  it(`costs a look-up no more when ${SAME} say the same`, async () => {
    const workspaceId = randomUUID()
    const about: Sayings = { newIds: [], aboutKeys: [{ keyId: EMAIL, sayings: [GIVEN] }] }
    const admit = () => room.admit(asked({ workspaceId, sayings: about, lookUp: [EMAIL] }))
    const first = entered(await admit())
    const all = (await Promise.all(Array.from({ length: SAME - 1 }, admit))).map(entered)
    const told = [
      { number: first.number, sayings: [GIVEN] },
      { number: all.at(-2)!.number, sayings: [GIVEN] },
    ]
    assert.deepEqual(all.at(-1)!.queued.get(EMAIL)?.said, told)
    const { facts } = admissionKeys(room.prefix, workspaceId)
    const kept = await room.redis.hgetall(facts)
    assert.deepEqual(Object.keys(kept), [compactId(EMAIL)])
    assert.ok(kept[compactId(EMAIL)]!.length < 100, 'the numbers between the first and the last are not kept')
    for (const batchId of new Set([first, ...all].map(({ submissionId }) => batchIdOf(submissionId)))) {
      await room.settle(workspaceId, submissionIdIn(batchId, 1), about)
    }
    assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
  })

  it('is told as it was said first and last where very many say different things, and whole when that is asked for', async () => {
    const workspaceId = randomUUID()
    const about = (place: number): Sayings => ({
      newIds: [],
      aboutKeys: [{ keyId: EMAIL, sayings: [claims(String(place))] }],
    })
    const admit = (place: number) => room.admit(asked({ workspaceId, sayings: about(place), lookUp: [EMAIL] }))
    const all: Entered[] = []
    for (let place = 0; place < DIFFERENT; place++) all.push(entered(await admit(place)))
    const said = (places: readonly number[]) =>
      places.map((place) => ({ number: all[place]!.number, sayings: [claims(String(place))] }))
    const places = all.map((_, place) => place)
    const look = async (isWhole: boolean) =>
      (await queuedFactsIn(room.redis, room.prefix)(workspaceId, [EMAIL], { isWhole })).get(EMAIL)?.said
    assert.deepEqual(await look(true), said(places))
    assert.deepEqual(await look(false), said([...places.slice(0, 10), ...places.slice(-10)]))
    assert.deepEqual(entered(await admit(0)).queued.get(EMAIL)?.said.length, 20)
    // Said again, the first is among the last as well; it is told with the number with which it was said first.
    assert.equal(
      (await look(false))?.some(({ number }) => number === all[0]!.number),
      true,
    )
    const order = `${admissionKeys(room.prefix, workspaceId).factsAbout(EMAIL)}:order`
    const kept = await room.redis.dumpBuffer(order)
    await room.redis.zpopmin(order)
    assert.equal((await look(false))?.length, DIFFERENT + 1, 'as the version before leaves it')
    await room.redis.restore(order, 0, kept, 'REPLACE')
    const purge = entered(await room.admit(asked({ workspaceId, operation: 'purge_contact' })))
    assert.equal((await look(false))?.length, DIFFERENT + 1)
    for (const [place, { submissionId }] of all.entries()) await room.settle(workspaceId, submissionId, about(place))
    const left = new Set((await look(true))?.map(({ sayings: one }) => JSON.stringify(one)))
    assert.deepEqual(left, new Set([JSON.stringify([claims('0')])]))
    const again = await room.redis.zrange(admissionKeys(room.prefix, workspaceId).outstanding, '0', '0')
    await room.settle(workspaceId, submissionIdIn(again[0]!, 1), about(0))
    await room.settle(workspaceId, purge.submissionId)
    assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
  })
})

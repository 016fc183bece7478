import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { v7 as newId } from 'uuid'
import { OPERATIONS, QUEUE_OF, type SubmissionJob } from '../../contract/job.ts'
import {
  type Batched,
  batchIdOf,
  batchOfOne,
  itemText,
  letterOf,
  LONGEST_HEAD,
  readBatch,
  readHead,
  submissionIdIn,
} from '../../queue/batch.ts'
import { seeded } from '../support/property-seed.ts'

const MOST_PLACES = 100
const LARGEST_NUMBER = 10 ** 16 / 2
const workspaceId = randomUUID()
const hash = fc.base64String({ minLength: 12, maxLength: 22 }).map((text) => text.replaceAll(/[+/=]/g, '_'))
const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`))

const item = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  body: fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
  idempotency: fc.option(fc.record({ key: hash, body: hash }), { nil: undefined }),
  traceparent: fc.option(
    fc.tuple(hex(32), hex(16)).map(([trace, span]) => `00-${trace}-${span}-01`),
    { nil: undefined },
  ),
  isRefused: fc.boolean(),
})
type Item = typeof item extends fc.Arbitrary<infer I> ? I : never
const items = fc.array(item, { minLength: 1, maxLength: MOST_PLACES })
const firstNumber = fc.integer({ min: 1, max: LARGEST_NUMBER })

/** As admit.lua writes it. */
const batchText = (number: number, all: readonly Item[]): string => {
  const letters = all.map(({ operation, isRefused }) => (isRefused ? '-' : letterOf(operation))).join('')
  const texts = all.filter(({ isRefused }) => !isRefused).map(itemTextOf)
  return `${number} ${letters}\n[${texts.join(',')}]`
}
const itemTextOf = ({ body, idempotency, traceparent }: Item): string =>
  itemText({ bodyText: JSON.stringify(body), idempotency, traceparent })

const batchedOf = ({ operation, body, idempotency, traceparent }: Item, id: { submissionId: string; number: number }) =>
  ({
    submission: { version: 1, operation, workspaceId, ...id, body, ...(traceparent !== undefined && { traceparent }) },
    idempotency,
  }) as Batched
/** A body that went through JSON, as all bodies have: `-0` is 0, and a member `__proto__` is one like others. */
const asJson = (batched: readonly Batched[]): unknown => JSON.parse(JSON.stringify(batched))

describe('a batch', () => {
  it('is read as it was written, each submission with the id and the number of its place', () => {
    fc.assert(
      fc.property(items, firstNumber, (all, number) => {
        fc.pre(all.some(({ isRefused }) => !isRefused))
        const batchId = batchIdOf(newId())
        const batch = readBatch({ workspaceId, batchId }, batchText(number, all))
        const expected = all.flatMap((one, at) =>
          one.isRefused ? [] : batchedOf(one, { submissionId: submissionIdIn(batchId, at + 1), number: number + at }),
        )
        assert.deepEqual(asJson(batch.submissions), asJson(expected))
        assert.deepEqual([batch.batchId, batch.number], [batchId, number])
        assert.equal(batch.queue, QUEUE_OF[expected[0]!.submission.operation])
      }),
      seeded(),
    )
  })

  it('of one is read as it was written, with the id that it had', () => {
    fc.assert(
      fc.property(item, firstNumber, fc.uuid(), (one, number, submissionId) => {
        const batched = batchedOf(one, { submissionId, number })
        const batch = readBatch({ workspaceId, batchId: submissionId }, batchOfOne(batched))
        assert.deepEqual(asJson(batch.submissions), asJson([batched]))
        assert.equal(batch.number, number)
      }),
      seeded(),
    )
  })

  it('is known by its head, of which the whole is never longer than what is read of it', () => {
    fc.assert(
      fc.property(items, firstNumber, (all, number) => {
        const text = batchText(number, all)
        const head = readHead(text.slice(0, LONGEST_HEAD))
        assert.deepEqual(head, readHead(text))
        assert.ok(text.indexOf('\n') < LONGEST_HEAD)
        assert.equal(head.isOfOne, false)
        assert.deepEqual(
          head.operations,
          all.flatMap(({ operation, isRefused }, at) => (isRefused ? [] : { place: at + 1, operation })),
        )
      }),
      seeded(),
    )
    const [submission] = OPERATIONS.map(
      (operation) => ({ operation, number: 7, body: { text: 'x'.repeat(1_000) } }) as unknown as SubmissionJob,
    )
    const ofOne = batchOfOne({ submission: submission!, idempotency: undefined })
    assert.deepEqual(readHead(ofOne.slice(0, LONGEST_HEAD)), {
      number: 7,
      isOfOne: true,
      operations: [{ place: 1, operation: submission!.operation }],
    })
  })

  it('has an id from which those of its submissions follow, and back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 0xfff }), (place) => {
        const batchId = batchIdOf(newId())
        const id = submissionIdIn(batchId, place)
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.equal(batchIdOf(id), batchId)
        assert.notEqual(id, batchId)
        assert.equal(Number.parseInt(id.slice(-3), 16), place)
      }),
      seeded(),
    )
  })
})

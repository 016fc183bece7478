import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { v7 as newId } from 'uuid'
import { compactId } from '../../../queue/keys.ts'
import { idBaseOf, itemText, readEntry, submissionIdIn } from '../../../queue/log/log-entry.ts'

const FIRST = 1_764_103_200_123_456
const ID_BASE = idBaseOf(newId())
const WORKSPACE = newId()
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const KEY = { key: 'k'.repeat(22), body: 'b'.repeat(9) }

const entryOf = (letters: string, ...items: string[]): string =>
  `1 ${FIRST} ${letters} ${compactId(ID_BASE)} 7 900 5\n[${items.join(',')}]`

describe('an entry of the log', () => {
  it('has a submission for each letter, with number and id by its place', () => {
    const items = ['{"a":1}', '{"a":2}'].map((bodyText) => itemText({ bodyText }))
    const head = { idBase: ID_BASE, first: FIRST }
    const common = { workspaceId: WORKSPACE, seenPosition: 5 }
    assert.deepEqual(readEntry(WORKSPACE, entryOf('-f-c', ...items)), [
      {
        ...common,
        operation: 'create_feedback',
        submissionId: submissionIdIn(head, 2),
        number: FIRST + 1,
        body: { a: 1 },
      },
      {
        ...common,
        operation: 'submit_conversation',
        submissionId: submissionIdIn(head, 4),
        number: FIRST + 3,
        body: { a: 2 },
      },
    ])
  })

  it('keeps the idempotency key and the trace of a submission, each with and without the other', () => {
    const item = { bodyText: '{}' }
    const items = [
      itemText({ ...item, idempotency: KEY, traceparent: TRACE }),
      itemText({ ...item, idempotency: KEY }),
      itemText({ ...item, traceparent: TRACE }),
      itemText(item),
    ]
    assert.deepEqual(
      readEntry(WORKSPACE, entryOf('ffff', ...items)).map(({ idempotency, traceparent }) => ({
        idempotency,
        traceparent,
      })),
      [
        { idempotency: KEY, traceparent: TRACE },
        { idempotency: KEY, traceparent: undefined },
        { idempotency: undefined, traceparent: TRACE },
        { idempotency: undefined, traceparent: undefined },
      ],
    )
    assert.equal(items.at(-1), '[{}]')
  })

  it('keeps the former id and number of a submission that was appended again, and no position', () => {
    const original = { submissionId: newId(), number: 12, idempotency: KEY }
    const [submission] = readEntry(WORKSPACE, entryOf('p', itemText({ bodyText: '{}', original })))
    assert.deepEqual(submission, {
      operation: 'purge_contact',
      workspaceId: WORKSPACE,
      submissionId: original.submissionId,
      number: FIRST,
      originalNumber: 12,
      idempotency: KEY,
      body: {},
    })
  })

  it('in an unknown form, or with an unknown operation, is a fault', () => {
    assert.throws(() => readEntry(WORKSPACE, `2 ${entryOf('f').slice(2)}`), /unknown form/)
    assert.throws(() => readEntry(WORKSPACE, '1 5 f\n[]'), /unknown form/)
    assert.throws(() => readEntry(WORKSPACE, entryOf('x', '[{}]')), /unknown operation/)
  })
})

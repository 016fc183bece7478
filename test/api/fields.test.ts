import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Problem } from '../../contract/check-body.ts'
import { bodyWith } from '../end-to-end/body-with.ts'
import {
  type Field,
  FIELDS,
  type Kind,
  LONGEST,
  isTestedWithLongest,
  SUCCESS,
  valueOf,
} from '../end-to-end/interface-table.ts'
import { appWithoutStores, SUBMISSION } from '../support/app-without-stores.ts'

const DATE_TIME = 'an existing date-time of RFC 3339 with an offset, such as 2026-01-31T09:30:00Z'
type Wrong = readonly [value: JsonValue, mustBe: string]

const all = (mustBe: string, ...values: JsonValue[]): Wrong[] => values.map((value) => [value, mustBe])
/** The Hebrew letter becomes three characters in Unicode NFC. */
const TOO_LONG = all('at most 512 characters long', `${'x'.repeat(511)}@x`, `${'\uFB2C'.repeat(171)}@x`)
const NO_TEXT = all('a string', 918_273_645, true, ['x'], { x: 1 })

/** Values of a wrong type or form, and the expected form in the message. */
const WRONG: Readonly<Record<Kind, readonly Wrong[]>> = {
  text: NO_TEXT,
  short: [...NO_TEXT, ...TOO_LONG],
  id: [...NO_TEXT, ...TOO_LONG, ['', 'a string that is not empty']],
  'date-time': [...NO_TEXT, ...all(DATE_TIME, 'x', '', '2026-02-30T00:00:00Z', '2026-01-31', '2026-01-31T09:30:00')],
  number: [
    ...all('a number', 'x', '5', true, [5], { x: 1 }),
    ...all('a number from -1e+15 to 1e+15', 1e15 + 1, -1e16, 1e308),
    ...all('0 or at least 1e-100 away from it', 1e-101, -5e-324),
  ],
  boolean: all('true or false', 'x', 'true', 1, [true], { x: 1 }),
  object: all('an object', 'x', 5, true, [{ x: 1 }]),
  array: all('an array', 'x', 5, true, { x: 1 }),
}

const { handle } = appWithoutStores()

const post = async (operation: string, body: JsonObject, headers: Record<string, string> = {}) => {
  const response = await handle(
    new Request(`http://x/api/v1${operation}`, {
      method: 'POST',
      headers: { Authorization: 'Bearer admin', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  )
  return { status: response.status, headers: response.headers, body: (await response.json()) as { error?: Problem[] } }
}

const assertTaken = async (field: Field, value: JsonValue | undefined): Promise<void> => {
  const { status, body } = await post(field.operation, bodyWith(field, value, 'unique'))
  assert.equal(status, SUCCESS[field.operation], `for ${JSON.stringify(value)}: ${JSON.stringify(body)}`)
}

/** Compares the whole answer, since a message must not quote the value. */
const assertRefused = async (field: Field, value: JsonValue | undefined, message: string): Promise<void> => {
  const { status, body } = await post(field.operation, bodyWith(field, value, 'unique'))
  const expected = { error: [{ message: `${field.path} ${message}`, path: field.path }] }
  assert.deepEqual([status, body], [400, expected], `for ${JSON.stringify(value)}`)
}

for (const operation of Object.keys(SUCCESS)) {
  describe(`each field of ${operation}`, () => {
    for (const field of FIELDS.filter((candidate) => candidate.operation === operation)) {
      const { path, kind, presence } = field
      it(`${path} is a ${presence} ${kind}, and other values are refused with its path`, async () => {
        const known = { contactId: SUBMISSION, accountId: SUBMISSION, projectId: SUBMISSION, unique: 'unique' }
        await assertTaken(field, valueOf(field.good, known))
        await (presence === 'required' ? assertRefused(field, undefined, 'is required') : assertTaken(field, undefined))
        const [, mustBe] = WRONG[kind][0]!
        await (presence === 'nullable' ? assertTaken(field, null) : assertRefused(field, null, `must be ${mustBe}`))
        for (const [value, must] of WRONG[kind]) await assertRefused(field, value, `must be ${must}`)
        if (kind === 'text' || kind === 'short') await assertTaken(field, '')
        if (isTestedWithLongest(field)) await assertTaken(field, LONGEST)
        if (kind === 'number') for (const value of [1e15, -1e15, 0, 1e-100]) await assertTaken(field, value)
      })
    }
  })
}

describe('a body', () => {
  const UNKNOWN = { description: 'x', Rating: 5, contact: { email: 'a@example.com', $name: 5 } }

  it('may have unknown members, unless it is read strictly', async () => {
    assert.equal((await post('/feedbacks', UNKNOWN)).status, 201)
    const strict = { Prefer: 'handling=strict, wait=0' }
    const { body, headers } = await post('/feedbacks', UNKNOWN, strict)
    assert.equal(headers.get('Preference-Applied'), 'handling=strict')
    assert.deepEqual(
      body.error?.map(({ path }) => path),
      ['Rating', 'contact.$name'],
    )
    const taken = await post('/feedbacks', { description: 'x', sourceData: { any: 1 } }, strict)
    assert.deepEqual([taken.status, taken.headers.get('Preference-Applied')], [201, 'handling=strict'])
  })

  it('is refused with all its problems at once, 100 at most', async () => {
    const wrong = { rating: 'five', tags: ['fine', 5, null], contact: { email: 5 }, account: [], accountId: '' }
    const { body } = await post('/feedbacks', wrong)
    assert.deepEqual(
      body.error?.map(({ path }) => path),
      ['description', 'tags.1', 'tags.2', 'contact.email', 'account', 'accountId', 'rating'],
    )
    const strict = { Prefer: 'handling=strict' }
    const many = await post('/feedbacks', { Rating: 5, tags: Array<number>(5_000).fill(5) }, strict)
    assert.equal(many.body.error?.length, 100)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { identifyAccount } from '../../../api/operations/accounts.ts'
import { identifyContact, purgeContact } from '../../../api/operations/contacts.ts'
import { submitConversation } from '../../../api/operations/conversations.ts'
import { createFeedback } from '../../../api/operations/feedbacks.ts'
import { type AnySubmissionKind, isRefusedIntake } from '../../../api/submit/intake.ts'
import { parseBody } from '../../../api/http/read-body.ts'
import { validate } from '../../../api/submit/submit.ts'
import { hashKeyFrom } from '../../../contract/identity/keys.ts'
import type { Problem } from '../../../contract/check-body.ts'
import { seeded } from '../../support/property-seed.ts'

const KINDS = { createFeedback, identifyContact, identifyAccount, submitConversation, purgeContact }
const hashKey = hashKeyFrom('0'.repeat(64))

type Outcome = { body: unknown } | { problems: Problem[] }

const read = (kind: AnySubmissionKind, text: string): Outcome => {
  const parsed = parseBody(new TextEncoder().encode(text))
  if ('refused' in parsed) return { problems: 'problems' in parsed ? [...parsed.problems] : [] }
  const arrival = { request: new Request('http://localhost/'), token: undefined, span: undefined }
  const outcome = validate({ hashKey }, { ...arrival, kind, key: null, workspaceId: '', value: parsed.value })
  if (!isRefusedIntake(outcome)) return { body: outcome.body }
  assert.equal(outcome.refusal.refused, 'invalid')
  return { problems: 'problems' in outcome.refusal ? [...outcome.refusal.problems] : [] }
}

/** Numbers that JavaScript cannot represent. */
const UNKEPT = ['9007199254740993', '-12345678901234567890', '1e999', '1.2345678901234567891e19', '9'.repeat(400)]

const UNKEPT_SAYS = 'must be a number that double precision keeps: finite, and unchanged if it is an integer'
const KEYS = ['a', 'b', 'a.b', 'a.b.c', '$x', '\\u0061', '\\u0000', '\\ud800', '\ufffd', '__proto__', '']

/** An object with at most `depth` levels of objects below it. `#` stands for a number. */
const anyMembers = (depth: number): fc.Arbitrary<string> => {
  const key = fc.constantFrom(...KEYS)
  const items = depth === 0 ? [] : [anyMembers(depth - 1), list(anyMembers(depth - 1))]
  const value = fc.oneof(fc.constantFrom('#', '#', '1', 'null', '"# #,"', '[#,#]', '[ #]'), ...items)
  return fc
    .array(fc.tuple(key, value), { maxLength: 4 })
    .map((members) => `{${members.map(([name, member]) => `"${name}":${member}`).join(' ,')}}`)
}
const list = (item: fc.Arbitrary<string>) => fc.array(item, { maxLength: 3 }).map((items) => `[${items.join()}]`)
/** An object with the members of `least` and some of `members`, each at most once. */
const object = (least: string, members: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.subarray(Object.keys(members)), fc.record(members), fc.constantFrom('', ',"ignored":[#,{"id":#}]'))
    .map(([names, values, more]) => `{${[least, ...names.map((name) => `"${name}":${values[name]}`)].join()}${more}}`)
const free = anyMembers(2)
const flag = fc.constantFrom('true', 'false')
const AT = '"createdAt":"2026-01-01T00:00:00Z"'
const account = object('"id":"a"', {})
const contact = object('"id":"c"', { properties: free, shouldUnflattenProperties: flag, account })
const message = object(`"id":"m","incoming":true,"content":"",${AT}`, { properties: free })
const BODIES = {
  identifyContact: contact,
  identifyAccount: account,
  purgeContact: object('"id":"c"', {}),
  createFeedback: object('"description":"d"', {
    rating: fc.constant('#'),
    sourceData: free,
    shouldUnflattenSourceData: flag,
    contact: object('"email":"e"', { sourceData: free }),
    account: object('"name":"n"', { contractValue: fc.constant('#'), sourceData: free }),
  }),
  submitConversation: fc
    .tuple(
      object(`"id":"c","source":"s",${AT}`, { rating: fc.constant('#'), properties: free }),
      list(contact),
      list(message),
    )
    .map(([body, contacts, messages]) => body.replace(/}$/, `,"contacts":${contacts},"messages":${messages}}`)),
}

const FIRST_KEPT = 700_001

/** The paths of the numbers from `FIRST_KEPT` on. */
const numbersIn = (value: unknown, path: readonly string[] = []): string[] => {
  if (typeof value === 'number' && value >= FIRST_KEPT) return [path.join('.')]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => numbersIn(inner, [...path, key]))
}

describe('any body', () => {
  it('has a problem at each number that would be stored changed, and no other problem', () => {
    const cases = fc
      .constantFrom(...(Object.keys(BODIES) as (keyof typeof BODIES)[]))
      .chain((name) => fc.tuple(fc.constant(name), BODIES[name]))
    fc.assert(
      fc.property(cases, fc.constantFrom(...UNKEPT), ([name, template], unkept) => {
        const withNumbers = (number: (index: number) => string): string => {
          let count = 0
          // The `#` in the text `"# #,"` stay.
          return template.replaceAll(/(?<![" ])#|(?<=\[ )#/g, () => number(count++))
        }
        const kept = read(
          KINDS[name],
          withNumbers((index) => String(FIRST_KEPT + index)),
        )
        const changed = read(
          KINDS[name],
          withNumbers(() => unkept),
        )
        if ('problems' in kept) {
          assert.ok('problems' in changed)
          return
        }
        const expected = numbersIn(kept.body)
        const found = 'problems' in changed ? changed.problems : []
        assert.deepEqual(found.map(({ path }) => path).toSorted(), expected.slice(0, 100).toSorted())
        for (const problem of found) assert.equal(problem.message, `${problem.path} ${UNKEPT_SAYS}`)
        if (expected.length === 0) assert.deepEqual(changed, kept)
      }),
      seeded({ numRuns: 500 }),
    )
  })
})

describe('a body with a list that is too long', () => {
  const conversation = (messages: string) =>
    `{"id":"c","source":"s","createdAt":"2026-01-01T00:00:00Z","contacts":[],"messages":[${messages}]}`

  it('gets the problem of the list together with its other problems', () => {
    const messageOf = (id: string) => `{"id":${id},"incoming":true,"content":"","createdAt":"2026-01-01T00:00:00Z"}`
    const messages = [messageOf('1'), ...Array<string>(20_000).fill(messageOf('"m"'))]
    assert.deepEqual(read(submitConversation, conversation(messages.join())), {
      problems: [
        { message: 'messages.0.id must be a string', path: 'messages.0.id' },
        { message: 'messages must be an array of at most 10000 messages', path: 'messages' },
      ],
    })
  })
})

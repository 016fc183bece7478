import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { identifyAccount } from '../../../api/operations/accounts.ts'
import { identifyContact, purgeContact } from '../../../api/operations/contacts.ts'
import { submitConversation } from '../../../api/operations/conversations.ts'
import { createFeedback } from '../../../api/operations/feedbacks.ts'
import { type AnySubmissionKind, isRefusedIntake } from '../../../api/submit/intake.ts'
import { parseBody } from '../../../api/submit/read-body.ts'
import { validate } from '../../../api/submit/submit.ts'
import { hashKeyFrom } from '../../../contract/identity/keys.ts'
import type { Problem } from '../../../contract/check-body.ts'
import { seeded } from '../../support/property-seed.ts'

const KINDS = { createFeedback, submitConversation }
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

const problemsOf = (kind: AnySubmissionKind, text: string): Problem[] => {
  const outcome = read(kind, text)
  return 'problems' in outcome ? outcome.problems : []
}
const pathsOf = (kind: AnySubmissionKind, text: string): string[] => problemsOf(kind, text).map(({ path }) => path)

const UNKEPT = ['9007199254740993', '-12345678901234567890', '1e999', '1.2345678901234567891e19', '9'.repeat(400)]

describe('a number that JavaScript cannot represent', () => {
  for (const number of UNKEPT) {
    it(`is a problem only where it would be stored: ${number.slice(0, 30)}`, () => {
      const text = `{"description":"x","ignored":${number},"sourceData":{"a.b":[{"c":${number}}]},"rating":${number},
        "contact":{"ignored":[${number}],"sourceData":{"d":${number}}},"account":{"name":"a","contractValue":${number}}}`
      const problems = problemsOf(createFeedback, text)
      const expected = 'must be a number that double precision keeps: finite, and unchanged if it is an integer'
      const paths = ['contact.sourceData.d', 'account.contractValue', 'rating', 'sourceData.a.b.0.c']
      assert.deepEqual(
        problems,
        paths.map((path) => ({ message: `${path} ${expected}`, path })),
      )
    })

    it(`is ignored with its member: ${number.slice(0, 30)}`, () => {
      const texts: [AnySubmissionKind, string, unknown][] = [
        [identifyContact, '"id":"c","ignored":N,"account":{"id":"a","x":[N]}', { id: 'c', account: { id: 'a' } }],
        [identifyAccount, '"id":"a","ignored":{"x":N}', { id: 'a' }],
        [purgeContact, '"id":"c","ignored":{"x":N}', { id: 'c' }],
      ]
      for (const [kind, members, body] of texts)
        assert.deepEqual(read(kind, `{${members.replaceAll('N', number)}}`), { body })
    })
  }
})

const KEYS = ['a', 'b', 'a.b', 'a.b.c', '$x', '\\u0061', '\\u0000', '\\ud800', '\ufffd', '__proto__', '']

/** Members of any names with numbers below; `#` stands for a number. */
const anyMembers = (depth: number): fc.Arbitrary<string> => {
  const key = fc.constantFrom(...KEYS)
  const items = depth === 0 ? [] : [anyMembers(depth - 1), list(anyMembers(depth - 1))]
  const value = fc.oneof(fc.constantFrom('#', '#', '1', 'null', '"# #,"', '[#,#]', '[ #]'), ...items)
  return fc
    .array(fc.tuple(key, value), { maxLength: 4 })
    .map((members) => `{${members.map(([name, of]) => `"${name}":${of}`).join(' ,')}}`)
}
const list = (item: fc.Arbitrary<string>) => fc.array(item, { maxLength: 3 }).map((items) => `[${items.join()}]`)
/** Some of the members, which collide no more than in a body. */
const object = (least: string, members: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.subarray(Object.keys(members)), fc.record(members), fc.constantFrom('', ',"ignored":[#,{"id":#}]'))
    .map(([names, values, more]) => `{${[least, ...names.map((name) => `"${name}":${values[name]}`)].join()}${more}}`)
const free = anyMembers(2)
const flag = fc.constantFrom('true', 'false')
const AT = '"createdAt":"2026-01-01T00:00:00Z"'
const contact = object('"id":"c"', { properties: free, shouldUnflattenProperties: flag })
const message = object(`"id":"m","incoming":true,"content":"",${AT}`, { properties: free })
const BODIES = {
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
  it('has a problem exactly at the numbers that would be stored', () => {
    const cases = fc
      .constantFrom(...(Object.keys(BODIES) as (keyof typeof BODIES)[]))
      .chain((name) => fc.tuple(fc.constant(name), BODIES[name]))
    fc.assert(
      fc.property(cases, fc.constantFrom(...UNKEPT), ([name, template], unkept) => {
        const withNumbers = (number: (index: number) => string): string => {
          let count = 0
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
        const found = 'problems' in changed ? changed.problems.map(({ path }) => path) : []
        assert.deepEqual(found.toSorted(), expected.slice(0, 100).toSorted())
        if (expected.length === 0) assert.deepEqual(changed, kept)
      }),
      seeded({ numRuns: 500 }),
    )
  })
})

describe('a body with more problems than an answer has', () => {
  const conversation = (messages: string) =>
    `{"id":"c","source":"s","createdAt":"2026-01-01T00:00:00Z","contacts":[],"messages":[${messages}]}`

  it('gets the problem of a too long list together with its others', () => {
    const messageOf = (id: string) => `{"id":${id},"incoming":true,"content":"","createdAt":"2026-01-01T00:00:00Z"}`
    const messages = [messageOf('1'), ...Array<string>(20_000).fill(messageOf('"m"'))]
    assert.deepEqual(problemsOf(submitConversation, conversation(messages.join())), [
      { message: 'messages.0.id must be a string', path: 'messages.0.id' },
      { message: 'messages must be an array of at most 10000 messages', path: 'messages' },
    ])
    const tags = (count: number) => `{"description":"x","tags":[${Array(count).fill('"t"').join()}]}`
    assert.deepEqual(pathsOf(createFeedback, tags(100)), [])
    assert.deepEqual(problemsOf(createFeedback, tags(101)), [
      { message: 'tags must be an array of at most 100 tags', path: 'tags' },
    ])
  })
})

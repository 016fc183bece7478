import * as fc from 'fast-check'
import type { Operation } from '../../contract/submission.ts'

/** A submission of a caller: an operation and a body that the API accepts, within all bounds. */
export type Submitted = { operation: Exclude<Operation, 'purge_contact'>; body: object }

/**
 * A family of submissions that may cost Postgres much for their bytes. Another `name` gives other
 * people, accounts and records. Twice the `size` gives about twice the bytes.
 */
export type Dearest = {
  title: string
  /** Known extra work of each statement, independent of its bytes. */
  perStatement?: string
  submissions: (size: number, name: string) => Submitted[]
}

const MEMBERS = 1_000
const MEMBER_CHARACTERS = 15_000
const TAGS = 100
const TAG_CHARACTERS = 150
const DATE_TIME = '2026-01-01T00:00:00Z'

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const keys = (first: number, count: number, value: unknown = 1): object =>
  Object.fromEntries(times(count, (index) => [`k${first + index}`, value]))

const feedback = (body: object): Submitted => ({
  operation: 'create_feedback',
  body: { description: 'slow', ...body },
})
const contact = (body: object): Submitted => ({ operation: 'identify_contact', body })
const conversation = (body: object): Submitted => ({
  operation: 'submit_conversation',
  body: { source: 'chat', createdAt: DATE_TIME, contacts: [], messages: [], ...body },
})
const firm = (name: string, key: number): object => ({ $name: name, $domain: `${name}.example`, [`k${key}`]: 1 })
const message = (id: string, body: object = {}): object => ({
  id,
  incoming: true,
  content: 'hi',
  createdAt: DATE_TIME,
  ...body,
})

/** The most expensive known families. */
export const DEAREST: readonly Dearest[] = [
  {
    title: 'one contact, identified with other keys each time',
    submissions: (size, name) =>
      times(size, (index) => contact({ id: name, properties: keys(index * MEMBERS, MEMBERS) })),
  },
  {
    title: 'one contact, identified with long members',
    perStatement: 'writes the whole contact, of up to 16 MB',
    submissions: (size, name) =>
      times(size, (index) => contact({ id: name, properties: keys(index * 8, 8, text(MEMBER_CHARACTERS)) })),
  },
  {
    title: 'dotted keys that are unflattened',
    perStatement: 'writes the whole contact',
    submissions: (size, name) =>
      times(size, (index) =>
        contact({
          id: name,
          shouldUnflattenProperties: true,
          properties: Object.fromEntries(times(MEMBERS, (key) => [`a${index}.${key % 30}.b.c.d.e.${key}`, 1])),
        }),
      ),
  },
  {
    title: 'feedback with as many tags as are allowed',
    submissions: (size, name) =>
      times(size, (index) =>
        feedback({ tags: times(TAGS, (tag) => `${name} ${index} ${tag} `.padEnd(TAG_CHARACTERS, 'x')) }),
      ),
  },
  {
    title: 'feedback of one email, which is then claimed',
    submissions: (size, name) => [
      ...times(size * 20, () => feedback({ contact: { email: `${name}@example.org`, name: 'Ann' } })),
      contact({ id: name, properties: { $email: `${name}@example.org` } }),
    ],
  },
  {
    title: 'feedback of an unknown external id, and its contact',
    perStatement: 'looks for contacts that have appeared',
    submissions: (size, name) => [
      ...times(size * 20, () => feedback({ isExternalContactId: true, contactId: name })),
      contact({ id: name }),
    ],
  },
  {
    title: 'one external id in ever more sources',
    perStatement: 'looks at the external id in all of its sources',
    submissions: (size, name) => times(size * 20, (index) => contact({ id: name, source: `${name} ${index}` })),
  },
  {
    title: 'feedback and messages of an unknown external id, and its contacts in ever more sources',
    submissions: (size, name) => [
      ...times(size * 10, () => feedback({ contactId: name, isExternalContactId: true })),
      ...times(size, (index) =>
        conversation({
          id: name,
          messages: times(10, (place) => message(`${index * 10 + place}`, { contactId: name })),
        }),
      ),
      ...times(size, (index) => contact({ id: name, source: `${name} ${index}` })),
    ],
  },
  {
    title: 'one account of many contacts',
    perStatement: 'writes the whole account, of up to 1,000 keys',
    submissions: (size, name) =>
      times(size * 20, (index) =>
        contact({ id: `${name}-${index}`, account: { id: name, properties: firm(name, index) } }),
      ),
  },
  {
    title: 'a conversation of short messages of unknown people',
    submissions: (size, name) => [
      conversation({
        id: name,
        messages: times(size * 50, (index) => message(`${index}`, { contactId: `${name}-${index}` })),
      }),
    ],
  },
  {
    title: 'a conversation of many contacts with one account and one email',
    submissions: (size, name) => [
      conversation({
        id: name,
        contacts: times(size * 20, (index) => ({
          id: `${name}-${index}`,
          properties: { $email: `${name}@example.org` },
          account: { id: name, properties: firm(name, index) },
        })),
      }),
    ],
  },
]

/** Text that does not compress well, the same in each run. */
const text = (characters: number): string => {
  let state = 1
  return times(characters, () => String.fromCodePoint(97 + ((state = (state * 48_271) % 2_147_483_647) % 26))).join('')
}

/**
 * The values of a member in the submissions of a family: absent, equal in all, different in each,
 * or two values in turn.
 */
const WAYS = ['none', 'same', 'each', 'turns'] as const
type Way = (typeof WAYS)[number]

const SOME = 10

const way = fc.constantFrom(...WAYS)
const present = fc.constantFrom<Way>('same', 'each', 'turns')
const memberValue = (how: Way, index: number): string | undefined =>
  ({ none: undefined, same: 'a', each: `a${index}`, turns: `a${index % 2}` })[how]
const named = (how: Way, name: string, index: number): string | undefined => {
  const value = memberValue(how, index)
  return value === undefined ? undefined : `${name}-${value}`
}
/** Ten keys: the same in all submissions, others in each, or two groups in turn. */
const keysLike = (how: Way, index: number): object | undefined =>
  how === 'none' ? undefined : keys({ same: 0, each: index, turns: index % 2 }[how] * SOME, SOME)
const under = (top: string, value: string | undefined): string | undefined => value && `${value}${top}`

const reference = fc.record({
  email: way,
  name: way,
  account: way,
  domain: way,
  external: way,
  record: way,
  tags: way,
  data: way,
})
const person = fc.record({ id: present, source: way, email: way, account: way, domain: way, keys: way })
const talk = fc.record({
  id: present,
  persons: fc.constantFrom(0, 1, SOME),
  person,
  message: present,
  sender: way,
  messages: fc.constantFrom(0, SOME),
})

type Reference = typeof reference extends fc.Arbitrary<infer T> ? T : never
type Person = typeof person extends fc.Arbitrary<infer T> ? T : never
type Talk = typeof talk extends fc.Arbitrary<infer T> ? T : never
type Maker = (name: string, index: number) => Submitted

const feedbackLike =
  (ways: Reference): Maker =>
  (name, index) =>
    feedback({
      sourceId: named(ways.record, name, index),
      tags: ways.tags === 'none' ? undefined : times(SOME, (tag) => `${named(ways.tags, name, index)} ${tag}`),
      contact: {
        email: under('@example.org', named(ways.email, name, index)),
        name: named(ways.name, name, index),
        sourceData: keysLike(ways.data, index),
      },
      account: { name: named(ways.account, name, index), domain: under('.example', named(ways.domain, name, index)) },
      ...(ways.external !== 'none' && { isExternalContactId: true, contactId: named(ways.external, name, index) }),
    })

const personLike = (ways: Person, name: string, index: number): object => ({
  id: named(ways.id, name, index),
  source: named(ways.source, 'source', index),
  properties: {
    $email: under('@example.org', named(ways.email, name, index)),
    ...keysLike(ways.keys, index),
  },
  ...(ways.account !== 'none' && {
    account: {
      id: named(ways.account, name, index),
      properties: {
        $name: named(ways.account, name, index),
        $domain: under('.example', named(ways.domain, name, index)) ?? '',
      },
    },
  }),
})

const talkLike =
  (ways: Talk): Maker =>
  (name, index) =>
    conversation({
      id: named(ways.id, name, index),
      contacts: times(ways.persons, (place) => personLike(ways.person, name, index * SOME + place)),
      messages: times(ways.messages, (place) =>
        message(named(ways.message, name, index * SOME + place)!, {
          contactId: named(ways.sender, name, index * SOME + place),
        }),
      ),
    })

const maker: fc.Arbitrary<{ title: string; make: Maker }> = fc.oneof(
  reference.map((ways) => ({ title: `feedback ${JSON.stringify(ways)}`, make: feedbackLike(ways) })),
  person.map((ways) => ({
    title: `contact ${JSON.stringify(ways)}`,
    make: (name: string, index: number) => contact(personLike(ways, name, index)),
  })),
  talk.map((ways) => ({ title: `conversation ${JSON.stringify(ways)}`, make: talkLike(ways) })),
)

/** Random families: submissions of one kind, or of two kinds in turn or one after the other. */
export const families: fc.Arbitrary<Dearest> = fc
  .tuple(maker, fc.option(maker), fc.boolean())
  .map(([one, other, inTurns]) => ({
    title: other === null ? one.title : `${one.title} ${inTurns ? 'in turn with' : 'and then'} ${other.title}`,
    submissions: (size, name) => {
      if (other === null) return times(2 * size, (index) => one.make(name, index))
      if (inTurns) return times(size, (index) => [one.make(name, index), other.make(name, index)]).flat()
      return [...times(size, (index) => one.make(name, index)), ...times(size, (index) => other.make(name, index))]
    },
  }))

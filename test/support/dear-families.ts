import * as fc from 'fast-check'
import {
  contact,
  conversation,
  type Dearest,
  feedback,
  keys,
  message,
  type Submitted,
  times,
} from './dearest-bodies.ts'

/**
 * The values of a member in the submissions of a family: absent, equal in all, different in each,
 * or mixed.
 */
const WAYS = ['none', 'same', 'each', 'turns'] as const
type Way = (typeof WAYS)[number]

const SOME = 10

const way = fc.constantFrom(...WAYS)
const some = fc.constantFrom<Way>('same', 'each', 'turns')
const memberValue = (how: Way, index: number): string | undefined =>
  ({ none: undefined, same: 'a', each: `a${index}`, turns: `a${index % 2}` })[how]
const named = (how: Way, name: string, index: number): string | undefined => {
  const value = memberValue(how, index)
  return value === undefined ? undefined : `${name}-${value}`
}
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
const person = fc.record({ id: some, source: way, email: way, account: way, domain: way, keys: way })
const talk = fc.record({
  id: some,
  persons: fc.constantFrom(0, 1, SOME),
  person,
  message: some,
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
        sourceData: ways.data === 'none' ? undefined : keys(ways.data === 'each' ? index * SOME : 0, SOME),
      },
      account: { name: named(ways.account, name, index), domain: under('.example', named(ways.domain, name, index)) },
      ...(ways.external !== 'none' && { isExternalContactId: true, contactId: named(ways.external, name, index) }),
    })

const personLike = (ways: Person, name: string, index: number): object => ({
  id: named(ways.id, name, index),
  source: named(ways.source, 'source', index),
  properties: {
    $email: under('@example.org', named(ways.email, name, index)),
    ...(ways.keys !== 'none' && keys(ways.keys === 'each' ? index * SOME : 0, SOME)),
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

/**
 * Families of submissions about the same few or always new people, accounts and records, of one
 * kind or of two that alternate or follow each other.
 */
export const families: fc.Arbitrary<Dearest> = fc
  .tuple(maker, fc.option(maker), fc.boolean())
  .map(([one, other, inTurns]) => ({
    title: other === null ? one.title : `${one.title} ${inTurns ? 'and in turns' : 'and then'} ${other.title}`,
    submissions: (size, name) => {
      if (other === null) return times(2 * size, (index) => one.make(name, index))
      if (inTurns) return times(size, (index) => [one.make(name, index), other.make(name, index)]).flat()
      return [...times(size, (index) => one.make(name, index)), ...times(size, (index) => other.make(name, index))]
    },
  }))

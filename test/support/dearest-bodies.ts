import type { Operation } from '../../contract/submission.ts'

/** A submission of a caller: an operation and a body that the API accepts, within all bounds. */
export type Submitted = { operation: Exclude<Operation, 'purge_contact'>; body: object }

/**
 * Submissions with the highest cost for Postgres for their bytes. `submissions` makes them for any
 * size and `name`. Another name gives other people, accounts and records, so that none of them is
 * stored yet. Twice the size is twice the bytes.
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

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
export const keys = (first: number, count: number, value: unknown = 1): object =>
  Object.fromEntries(times(count, (index) => [`k${first + index}`, value]))

export const feedback = (body: object): Submitted => ({
  operation: 'create_feedback',
  body: { description: 'slow', ...body },
})
export const contact = (body: object): Submitted => ({ operation: 'identify_contact', body })
export const conversation = (body: object): Submitted => ({
  operation: 'submit_conversation',
  body: { source: 'chat', createdAt: DATE_TIME, contacts: [], messages: [], ...body },
})
const firm = (name: string, key: number): object => ({ $name: name, $domain: `${name}.example`, [`k${key}`]: 1 })
export const message = (id: string, body: object = {}): object => ({
  id,
  incoming: true,
  content: 'hi',
  createdAt: DATE_TIME,
  ...body,
})

/** Cases within one workspace. Cases with few and long bodies come first. */
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
    title: 'feedback that remembers an external id, which then comes',
    perStatement: 'looks for who has appeared',
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
    title: 'feedback and messages that remember an external id, which then comes in ever more sources',
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

import type { ContactRecord } from '../../contract/contact-record.ts'
import type { ConversationRecord } from '../../contract/conversation-record.ts'

/** People whom the feedback of the benchmark is from, ten to each company. */
export type Crowd = { readonly people: number }

const PEOPLE_PER_COMPANY = 10
export const MESSAGES_PER_CONVERSATION = 20
const SOMETIME = '2026-01-31T09:30:00Z'
const TAGS = ['export', 'reports', 'billing', 'search', 'mobile', 'login', 'speed', 'import'] as const
const SENTENCES = [
  'Exporting the monthly report takes ages and then ends with an error.',
  'Search finds nothing as soon as a word is misspelled by one letter.',
  'The invoice shows last year although we changed the plan in March.',
  'Importing contacts drops every second row without telling anybody.',
] as const

/** Steps through the people in an order that is neither theirs nor repeats before everybody had a turn (a prime). */
const STRIDE = 7_919
const MANY_PEOPLE = 1_000_000

/** About 350 bytes of JSON, with a contact and an account to find or create and with tags: no two have one `sourceId`. */
export const feedbackBody = (index: number, { people }: Crowd) => {
  const person = personOf(index, { people })
  return {
    description: `${SENTENCES[index % SENTENCES.length]} Please look into it; seen again today, number ${index}.`,
    ...referencesOfPerson(person),
    tags: [TAGS[index % TAGS.length]!, TAGS[(index + 3) % TAGS.length]!],
    source: 'bench',
    sourceId: `ticket-${index}`,
    rating: index % 6,
  }
}

/** Whose feedback a number has. */
export const personOf = (index: number, { people }: Crowd): number => (index * STRIDE) % people

/** The contact and the account that a person's feedback names. */
export const referencesOfPerson = (person: number) => {
  const company = Math.floor(person / PEOPLE_PER_COMPANY)
  return {
    contact: { email: emailOf(person), name: `Person ${person}` },
    account: { name: `Company ${company}`, domain: domainOf(company) },
  }
}

export const emailOf = (person: number): string =>
  `person-${person}@${domainOf(Math.floor(person / PEOPLE_PER_COMPANY))}`

const domainOf = (company: number): string => `company-${company}.example`

export const contactBody = (index: number): ContactRecord => ({
  id: `user-${index}`,
  source: 'crm',
  properties: { $email: emailOf(index), $name: `Person ${index}`, plan: 'team', seats: index % 50 },
  account: {
    id: `company-${Math.floor(index / PEOPLE_PER_COMPANY)}`,
    properties: {
      $name: `Company ${Math.floor(index / PEOPLE_PER_COMPANY)}`,
      $domain: domainOf(Math.floor(index / PEOPLE_PER_COMPANY)),
    },
  },
})

/** Two contacts and 20 messages, every second one incoming. */
export const conversationBody = (index: number): ConversationRecord => ({
  id: `chat-${index}`,
  source: 'chat',
  createdAt: SOMETIME,
  contacts: [contactBody(2 * index), contactBody(2 * index + 1)],
  messages: Array.from({ length: MESSAGES_PER_CONVERSATION }, (_, message) => ({
    id: `message-${message}`,
    incoming: message % 2 === 0,
    contactId: `user-${2 * index + (message % 4 === 0 ? 1 : 0)}`,
    content: `${SENTENCES[(index + message) % SENTENCES.length]} Message ${message} of ${index}.`,
    createdAt: SOMETIME,
    properties: {},
  })),
  properties: { channel: 'web', queue: index % 7 },
  propagatePropertiesToMessages: true,
})

/** The bodies of a load, each another one. All of them name one of so many people, ids or projects, in turn. */
export const BODIES = {
  feedback: feedbackBody,
  'feedback of a project': (index: number, crowd: Crowd) => ({
    ...feedbackBody(index, { people: MANY_PEOPLE }),
    project: { name: `Project ${personOf(index, crowd)}` },
  }),
  'feedback of an email and another id each': (index: number, crowd: Crowd) => ({
    ...feedbackBody(index, crowd),
    isExternalContactId: true,
    contactId: `user-${index}`,
  }),
  'feedback of an id': (index: number, crowd: Crowd) => ({
    ...feedbackBody(index, crowd),
    contact: null,
    isExternalContactId: true,
    contactId: `user-${personOf(index, crowd)}`,
  }),
  contact: (index: number, crowd: Crowd) => contactBody(personOf(index, crowd)),
  'contact of an email, another one each': (index: number, crowd: Crowd) => ({
    id: `user-${index}`,
    source: 'crm',
    properties: { $email: emailOf(personOf(index, crowd)) },
  }),
  'contact of an id, from another source each': (index: number, crowd: Crowd) => ({
    id: `user-${personOf(index, crowd)}`,
    source: `crm-${index}`,
    properties: { plan: 'team' },
  }),
  'new contact': contactBody,
  'new conversation': conversationBody,
  /** Of the person with the number. */
  purge: (index: number) => ({ email: emailOf(index) }),
} as const satisfies Record<string, (index: number, crowd: Crowd) => object>
export type BodyKind = keyof typeof BODIES

import type { ContactRecord } from '../contract/contact-record.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'

/** The people who give the feedback of the benchmark, ten in each company. */
type Crowd = { readonly people: number }

const PEOPLE_PER_COMPANY = 10
export const MESSAGES_PER_CONVERSATION = 20
const SOMETIME = '2026-01-31T09:30:00Z'
const TAGS = ['export', 'reports', 'billing', 'search', 'mobile', 'login', 'speed', 'import'] as const
const SENTENCES = [
  'Exporting the monthly report takes ages and then ends with an error.',
  'Search finds nothing as soon as a word is misspelled by one letter.',
  'The invoice shows last year although we changed the plan in March.',
  'Importing contacts drops every second row without an error message.',
] as const

/** A prime step through the people, so that their order looks random. */
const STEP = 7_919

/** A feedback of usual size with a contact, an account and tags. Each has its own `sourceId`. */
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

/** The person who gives the feedback with this number. */
const personOf = (index: number, { people }: Crowd): number => (index * STEP) % people

/** The contact and the account in a person's feedback. */
const referencesOfPerson = (person: number) => {
  const company = companyOf(person)
  return {
    contact: { email: emailOf(person), name: `Person ${person}` },
    account: { name: `Company ${company}`, domain: domainOf(company) },
  }
}

const companyOf = (person: number): number => Math.floor(person / PEOPLE_PER_COMPANY)

export const emailOf = (person: number): string => `person-${person}@${domainOf(companyOf(person))}`

const domainOf = (company: number): string => `company-${company}.example`

const contactBody = (person: number): ContactRecord => {
  const company = companyOf(person)
  return {
    id: `user-${person}`,
    source: 'crm',
    properties: { $email: emailOf(person), $name: `Person ${person}`, plan: 'team', seats: person % 50 },
    account: {
      id: `company-${company}`,
      properties: { $name: `Company ${company}`, $domain: domainOf(company) },
    },
  }
}

const conversationBody = (index: number): ConversationRecord => ({
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

/** The bodies of a load. Only `contact` gives several numbers the same body. */
export const BODIES = {
  feedback: feedbackBody,
  'feedback without tags': (index: number, crowd: Crowd) => ({ ...feedbackBody(index, crowd), tags: undefined }),
  /** All feedback is from one person outside the crowd. */
  'feedback of one person': (index: number, { people }: Crowd) => ({
    ...feedbackBody(index, { people }),
    ...referencesOfPerson(people),
  }),
  /** The number of a feedback is also that of its person, as in `new contact`. */
  'feedback of a person each': (index: number, crowd: Crowd) => ({
    ...feedbackBody(index, crowd),
    ...referencesOfPerson(index),
  }),
  contact: (index: number, crowd: Crowd) => contactBody(personOf(index, crowd)),
  'new contact': contactBody,
  'new conversation': conversationBody,
} as const satisfies Record<string, (index: number, crowd: Crowd) => object>
export type BodyKind = keyof typeof BODIES

// Bodies of people in a round of a test, each with its place in the round.

export const feedbackBody = (round: string, index: number) => ({
  description: 'slow',
  contact: { email: `person-${round}-${index}@x.example`, name: `Person ${index}` },
  account: { name: `Company ${round} ${index}`, domain: `company-${round}-${index}.example` },
  project: { name: `Project ${round} ${index}` },
  tags: ['slow', 'export'],
  sourceId: `ticket-${round}-${index}`,
})

export const contactBody = (round: string, index: number) => ({
  id: `user-${round}-${index}`,
  source: 'crm',
  properties: { $email: `person-${round}-${index}@x.example`, plan: 'team' },
  account: {
    id: `company-${round}-${index}`,
    properties: { $name: `Company ${round} ${index}`, $domain: `company-${round}-${index}.example` },
  },
})

const SOMETIME = '2026-01-31T09:30:00Z'
export const conversationBody = (round: string, index: number) => ({
  id: `chat-${round}-${index}`,
  source: 'chat',
  createdAt: SOMETIME,
  contacts: [contactBody(round, index)],
  messages: Array.from({ length: 10 }, (_, place) => ({
    id: `message-${place}`,
    incoming: place % 2 === 0,
    contactId: place % 3 === 0 ? `stranger-${round}-${index}` : `user-${round}-${index}`,
    content: 'slow',
    createdAt: SOMETIME,
    properties: {},
  })),
  properties: {},
})

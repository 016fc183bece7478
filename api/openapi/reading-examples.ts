import type { JsonObject } from '../../contract/json.ts'

const FEEDBACK = {
  id: 'b7f8a0d2-5c1e-8d93-8a46-1f0e9c3b7a24',
  description: 'The export stops at 1,000 rows, and nothing says so.',
  customerId: '4c9d2e71-8b3f-8a60-9e15-7d2c6b8f0a13',
  projectId: 'e2a6c5b8-1d4f-8e97-b038-9c7a5f2e6d41',
  rating: 2,
  sourceId: 'HD-4711',
  sourceData: { url: 'https://helpdesk.example/tickets/4711' },
  title: 'Export is cut off',
  tags: ['export'],
  tagsGenerated: true,
  source: 'helpdesk',
  accountId: '7d1f3c9a-2b5e-8c47-9f60-3e8a1b4d6c72',
  createdAt: '2026-01-31T09:30:00.250000Z',
  acceptedAt: '2026-01-31T09:30:00.250000Z',
  updatedAt: '2026-01-31T09:30:00.250000Z',
}
const TIMES = { createdAt: FEEDBACK.createdAt, updatedAt: FEEDBACK.updatedAt }
const CUSTOMER = {
  id: FEEDBACK.customerId,
  name: 'Mira Voss',
  email: 'mira@harbour.example',
  accountId: FEEDBACK.accountId,
  contractValue: 1200.5,
  externalIds: [{ source: 'crm', id: 'user-1029' }],
  properties: { role: 'dispatcher' },
  ...TIMES,
}
const ACCOUNT = {
  id: FEEDBACK.accountId,
  name: 'Harbour Freight Lines',
  domain: 'harbour.example',
  contractValue: 48000,
  externalIds: [{ source: 'API', id: 'org-77' }],
  properties: { region: 'north' },
  ...TIMES,
}
const PROJECT = { id: FEEDBACK.projectId, name: 'Reporting', createdAt: FEEDBACK.createdAt }
const CATEGORY = { id: '159bce61-e7f7-8207-86be-c7ff41f78c37', title: 'export' }
const THEME = {
  id: '6f0c8f44-52e5-4c1e-9d0b-3f2b7c1a9e55',
  name: 'export',
  isHidden: false,
  createdAt: FEEDBACK.createdAt,
}
const ALERT = {
  id: '0a4f6d1c-7a0e-4c55-8d2b-9be1a6a4c3d7',
  subject: 'theme',
  change: 'grown',
  themeId: THEME.id,
  days: 3,
  people: 21,
  expected: 6.4,
  createdAt: FEEDBACK.createdAt,
  name: THEME.name,
}
const DIGEST = {
  id: '5d8b2f70-3a9f-4a53-9f5e-62d0c1b7e8a4',
  week: '2026-01-26T00:00:00.000000Z',
  createdAt: '2026-02-02T00:12:03.250000Z',
  alerts: [ALERT],
  changes: [{ subject: 'theme', themeId: THEME.id, name: THEME.name, people: 40, before: 17.5 }],
}
const CONVERSATION = {
  id: '9fa6aaf6-1378-819d-9793-639ab4532713',
  title: 'Where is my shipment?',
  source: 'livechat',
  externalId: 'chat-88',
  tags: ['shipment'],
  customerIds: [FEEDBACK.customerId],
  properties: { channel: 'web' },
  createdAt: '2026-01-31T09:30:00.000000Z',
}
const MESSAGE = {
  id: '50f53007-6b6c-8f6f-9db6-cf424382cbb0',
  conversationId: CONVERSATION.id,
  externalId: '1',
  incoming: true,
  customerId: FEEDBACK.customerId,
  content: 'My shipment has not moved for three days.',
  rawData: { channel: 'web' },
  createdAt: '2026-01-31T09:30:05.000000Z',
}
const SOURCE = {
  source: FEEDBACK.source,
  feedback: 1250,
  ratings: 940,
  leastRating: 0,
  mostRating: 10,
  scale: [0, 10],
  isScaleGiven: true,
  link: 'https://helpdesk.example/tickets/{sourceId}',
  fields: [{ name: 'plan', path: 'plan', of: 'account' }],
}
const NEXT = 'WyIyMDI2LTAxLTMxIDA5OjMwOjAwLjI1IiwiYjdmOGEwZDIiXQ'

/** An answer of each read, by the name of its schema. */
export const READ_EXAMPLES: Readonly<Record<string, JsonObject>> = {
  FeedbackPage: { feedbacks: [FEEDBACK], next: NEXT },
  FeedbackFound: { feedback: FEEDBACK },
  CustomerPage: { customers: [CUSTOMER], next: null },
  CustomerFound: { customer: CUSTOMER },
  AccountPage: { accounts: [ACCOUNT], next: null },
  AccountFound: { account: ACCOUNT },
  ProjectPage: { projects: [PROJECT], next: null },
  ProjectFound: { project: PROJECT },
  ThemePage: { themes: [{ ...THEME, feedback: 214, rated: 180, satisfaction: 0.4125, bad: 0.4611 }], next: null },
  ThemeFound: { theme: THEME },
  AlertPage: { alerts: [ALERT], next: null },
  AlertFound: { alert: ALERT },
  DigestPage: { digests: [DIGEST], next: null },
  DigestFound: { digest: DIGEST },
  FeedbackCategoryPage: { feedbackCategories: [CATEGORY], next: null },
  FeedbackCategoryFound: { feedbackCategory: CATEGORY },
  StoredConversationPage: { conversations: [CONVERSATION], next: null },
  StoredConversationFound: { conversation: CONVERSATION, messages: [MESSAGE], next: null },
  CountsPage: {
    total: { feedback: 1250, rated: 940, satisfaction: 0.6131, bad: 0.2287 },
    counts: [
      {
        account: ACCOUNT.id,
        accountName: ACCOUNT.name,
        month: '2026-01',
        feedback: 31,
        rated: 24,
        satisfaction: 0.3125,
        bad: 0.5833,
      },
      { account: null, month: '2026-01', feedback: 12, rated: 0, satisfaction: null, bad: null },
    ],
    next: NEXT,
  },
  SourcePage: { sources: [SOURCE], next: null },
  SourceFound: { source: SOURCE },
  ChangesPage: {
    changes: [
      { position: 1769851800250002, kind: 'feedback', id: FEEDBACK.id, deleted: false, record: FEEDBACK },
      {
        position: 1769851800317006,
        kind: 'customer',
        id: 'cf30f1b8-8b2a-887e-b32e-f5216eb5fbf4',
        deleted: true,
        mergedInto: FEEDBACK.customerId,
      },
    ],
    next: '1769851800317006',
  },
}

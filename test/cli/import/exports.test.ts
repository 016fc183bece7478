import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { imported, type Words } from './imported.ts'

/**
 * Files in the form of the tools, with invented contents: the first bodies, and the number of all.
 * Only the survey of Qualtrics has a second option, for its rating.
 */
const EXPORTS: readonly (readonly [
  name: string,
  words: Words,
  first: readonly unknown[],
  count: number,
  skipped?: readonly string[],
])[] = [
  [
    'zendesk-tickets.csv',
    { utc: true },
    [
      {
        source: 'zendesk',
        sourceId: '118216',
        description: 'The export ends at row 100',
        tags: ['billing', 'export_csv'],
        contact: { name: 'Mara Voss', email: 'mara@voss.example' },
        createdAt: '2026-05-04T09:44:00Z',
        sourceData: { status: 'Solved', priority: 'High', channel: 'Mail' },
      },
    ],
    2,
  ],
  [
    'zendesk-users.csv',
    {},
    [
      {
        source: 'zendesk',
        id: 'u-1',
        properties: { $name: 'Mara Voss', $email: 'mara@voss.example', tags: 'vip,beta' },
      },
    ],
    2,
  ],
  [
    'intercom-messages.csv',
    {},
    [
      {
        id: '215468',
        source: 'intercom',
        createdAt: '2026-05-04T21:45:08Z',
        properties: { state: 'closed', tags: 'billing' },
        contacts: [{ id: 'u-1', properties: { $name: 'Mara Voss', $email: 'mara@voss.example' } }],
        messages: [
          {
            id: 'm-1',
            incoming: true,
            contactId: 'u-1',
            content: 'The invoice is wrong,\nplease look',
            createdAt: '2026-05-04T21:45:08Z',
            properties: { type: 'initial' },
          },
          {
            id: 'm-2',
            incoming: false,
            contactId: 'a-1',
            content: 'It is mended.',
            createdAt: '2026-05-04T22:01:10Z',
            properties: { type: 'comment' },
          },
        ],
      },
      {
        id: '215470',
        source: 'intercom',
        createdAt: '2026-05-04T21:50:00Z',
        properties: { state: 'open' },
        contacts: [{ id: 'u-2', properties: { $email: 'jo@lind.example' } }],
        messages: [
          {
            id: 'm-3',
            incoming: true,
            contactId: 'u-2',
            content: 'Dark mode?',
            createdAt: '2026-05-04T21:50:00Z',
            properties: { type: 'initial' },
          },
        ],
      },
    ],
    2,
  ],
  [
    'freshdesk-tickets.csv',
    { utc: true },
    [
      {
        source: 'freshdesk',
        sourceId: '501',
        description: 'Cannot sign in',
        tags: ['login', 'sso'],
        createdAt: '2026-05-04T11:21:45Z',
        contact: { name: 'Mara Voss', email: 'mara@voss.example' },
        account: { name: 'Voss GmbH' },
        sourceData: { status: 'Open', priority: 'Urgent', channel: 'Email' },
      },
    ],
    2,
  ],
  [
    'hubspot-tickets.csv',
    { utc: true },
    [
      {
        source: 'hubspot',
        sourceId: '1783530971',
        title: 'Slow dashboard',
        description: 'It takes a minute\nto load',
        createdAt: '2026-05-04T09:30:00Z',
        sourceData: { status: 'Waiting on contact', priority: 'HIGH', channel: 'Email' },
      },
    ],
    2,
  ],
  [
    'typeform.csv',
    { map: ['What do you like, and why?=description'] },
    [
      {
        source: 'typeform',
        sourceId: 'lq3x9n0k2b',
        description: 'The speed, mostly',
        createdAt: '2026-05-04T10:01:30Z',
      },
    ],
    2,
  ],
  [
    'surveymonkey.csv',
    { map: ['What should we change?=description'] },
    [
      {
        source: 'surveymonkey',
        sourceId: '118049553001',
        description: 'Prices, please',
        contact: { email: 'mara@voss.example' },
      },
    ],
    2,
    ['line 2: a further row of the header'],
  ],
  [
    'qualtrics.csv',
    { map: ['Q2_TEXT=description', 'Q1=rating'] },
    [
      {
        source: 'qualtrics',
        sourceId: 'R_3Gx1',
        description: 'A dark mode',
        rating: 4,
        contact: { email: 'mara@voss.example' },
        sourceData: { language: 'EN' },
      },
    ],
    1,
    ['lines 2–3: a further row of the header', 'line 4: a further row of the header'],
  ],
  [
    'google-play.csv',
    {},
    [
      {
        source: 'google-play',
        sourceId: 'https://play.google.com/apps/publish?reviewid=gp:AOqp1',
        description: 'Stürzt ab, seit dem Update',
        rating: 2,
        createdAt: '2026-05-04T10:00:00Z',
        sourceData: { app: 'com.example.app', version: '4.1', language: 'de', device: 'klte' },
      },
    ],
    2,
  ],
  [
    'app-store.json',
    {},
    [
      {
        source: 'app-store',
        sourceId: '00000026-a8f2-4e0c-9c1d-000000000001',
        rating: 1,
        title: 'Crashes [again]',
        description: 'It says "no" and ends {always}',
        contact: { name: 'mara' },
        createdAt: '2026-05-04T03:00:00-07:00',
        sourceData: { territory: 'DEU' },
      },
    ],
    2,
  ],
  [
    'trustpilot.csv',
    {},
    [
      {
        source: 'trustpilot',
        sourceId: '6637a1',
        createdAt: '2026-05-04T10:00:00Z',
        rating: 1,
        title: 'Late',
        description: 'Three weeks late, and no answer',
        contact: { name: 'Mara V', email: 'mara@voss.example' },
        sourceData: { language: 'en', reference: 'O-77' },
        tags: ['delivery'],
      },
    ],
    2,
  ],
  [
    'jira.csv',
    {},
    [
      {
        source: 'jira',
        sourceId: 'APP-12',
        title: 'Search finds nothing',
        description: 'Steps:\n1. open\n2. search',
        tags: ['search', 'urgent'],
        contact: { name: 'Mara Voss' },
        project: { name: 'Shop app' },
        sourceData: { status: 'To Do', priority: 'High', type: 'Bug' },
      },
    ],
    2,
  ],
]

describe('the export of a tool', () => {
  for (const [name, words, first, count, skipped = []] of EXPORTS)
    it(`${name} is imported`, () => {
      const content = readFileSync(fileURLToPath(new URL(`exports/${name}`, import.meta.url)))
      const found = imported(name, content, words)
      assert.match(found.plan, new RegExp(`The layout is ${name.replace(/\..*/, '')};`))
      assert.deepEqual([found.refused, found.doubts, found.skipped], [[], [], skipped])
      assert.deepEqual([found.bodies.slice(0, first.length), found.bodies.length], [first, count])
    })
})

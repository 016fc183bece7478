import type { JsonValue } from '../../contract/json.ts'
import type { BodyName } from './schemas.ts'

type Example = { summary: string; value: JsonValue }
export type Examples = Readonly<Record<string, Example>>

/** Bodies to send. The reference shows the first example of each operation. */
export const REQUEST_EXAMPLES = {
  FeedbackSubmission: {
    ticket: {
      summary: 'A ticket of a source system, with the email of its customer',
      value: {
        description: 'The export stops at 1,000 rows, and nothing says so.',
        title: 'Export is cut off',
        contact: { email: 'mira@harbour.example', name: 'Mira Voss' },
        account: { domain: 'harbour.example', name: 'Harbour Freight Lines' },
        project: { name: 'Reporting' },
        source: 'helpdesk',
        sourceId: 'HD-4711',
        shouldUnflattenSourceData: true,
        sourceData: { url: 'https://helpdesk.example/tickets/4711', 'queue.name': 'exports' },
        rating: 2,
      },
    },
    external: {
      summary: 'With the ids of your system and your own tags',
      value: {
        description: '<p>Dark mode at last. <b>Thank you!</b></p>',
        isExternalContactId: true,
        contactId: 'user-1029',
        isExternalAccountId: true,
        accountId: 'org-77',
        tags: ['dark mode', 'praise'],
      },
    },
    least: { summary: 'The smallest body', value: { description: 'Love the new search.' } },
  },
  ContactRecord: {
    known: {
      summary: 'A contact of a source system, with its account',
      value: {
        id: 'user-1029',
        source: 'crm',
        shouldUnflattenProperties: true,
        properties: {
          $email: 'mira@harbour.example',
          $name: 'Mira Voss',
          $createdAt: '2025-11-03T08:15:00+01:00',
          $contractValue: 1200.5,
          role: 'dispatcher',
          'plan.seats': 12,
        },
        account: { id: 'org-77', properties: { $name: 'Harbour Freight Lines', $domain: 'harbour.example' } },
      },
    },
    least: { summary: 'The smallest body', value: { id: 'user-1029' } },
  },
  AccountRecord: {
    known: {
      summary: 'An account with metadata',
      value: {
        id: 'org-77',
        properties: {
          $name: 'Harbour Freight Lines',
          $domain: 'harbour.example',
          $updatedAt: '2026-01-31T09:30:00Z',
          $contractValue: 48000,
          region: 'north',
        },
      },
    },
    least: { summary: 'The smallest body', value: { id: 'org-77' } },
  },
  PurgeRequest: {
    byId: { summary: 'By the id in one source system', value: { id: 'user-1029', source: 'crm' } },
    byEmail: { summary: 'By email, in all sources', value: { email: 'mira@harbour.example' } },
  },
  Correction: {
    tags: { summary: 'Other tags', value: { tags: ['export', 'row limit'] } },
    hide: { summary: 'Hide a test message', value: { isHidden: true } },
    undo: { summary: 'Give the rating back to the source', value: { rating: null } },
  },
  NewTheme: {
    split: {
      summary: 'A theme from two texts',
      value: {
        name: 'Row limit of exports',
        feedbackIds: ['b7f8a0d2-5c1e-8d93-8a46-1f0e9c3b7a24', '0192d1c4-7b3a-7c55-9a10-5f0e2d4c6b88'],
      },
    },
  },
  ThemeEdit: {
    rename: { summary: 'Another name', value: { name: 'Exports' } },
    merge: {
      summary: 'Merge it into another theme',
      value: { mergedInto: '6f0c8f44-52e5-4c1e-9d0b-3f2b7c1a9e55' },
    },
    undo: { summary: 'End the merge', value: { mergedInto: null } },
  },
  Conversation: {
    chat: {
      summary: 'A chat',
      value: {
        id: 'chat-88',
        title: 'Where is my shipment?',
        source: 'livechat',
        createdAt: '2026-01-31T09:30:00Z',
        contacts: [{ id: 'visitor-5', properties: { $name: 'Jonas Berg' } }],
        messages: [
          {
            id: '1',
            incoming: true,
            contactId: 'visitor-5',
            content: 'My shipment has not moved for three days.',
            createdAt: '2026-01-31T09:30:05Z',
          },
          {
            id: '2',
            incoming: false,
            contactId: 'agent-2',
            content: 'It waits for customs. I will ask them to hurry.',
            createdAt: '2026-01-31T09:31:40Z',
            properties: { channel: 'mobile' },
            sourceUrl: 'https://livechat.example/chat-88#2',
          },
        ],
        propagatePropertiesToMessages: true,
        properties: { channel: 'web', campaign: 'winter' },
      },
    },
    least: {
      summary: 'The smallest body',
      value: { id: 'chat-89', source: 'livechat', createdAt: '2026-01-31T10:00:00Z', contacts: [], messages: [] },
    },
  },
  BatchRequest: {
    batch: {
      summary: 'A contact and its feedback',
      value: {
        items: [
          { operation: 'identify_contact', body: { id: 'user-1029', source: 'crm' } },
          {
            operation: 'create_feedback',
            idempotencyKey: 'export-2026-01-31-line-2',
            body: {
              description: 'Dark mode at last.',
              createdAt: '2026-01-30T17:02:11Z',
              isExternalContactId: true,
              contactId: 'user-1029',
            },
          },
        ],
      },
    },
  },
  SourceSettings: {
    scale: {
      summary: 'Ratings from 0 to 10',
      value: { scale: [0, 10], link: 'https://helpdesk.example/tickets/{sourceId}' },
    },
    fields: {
      summary: 'Fields to filter and count by',
      value: {
        fields: [
          { name: 'page', path: 'context.page', of: 'feedback' },
          { name: 'plan', path: 'plan', of: 'account' },
        ],
      },
    },
    none: { summary: 'Ratings without a scale', value: { scale: null } },
  },
} as const satisfies Partial<Record<BodyName | 'BatchRequest', Examples>>

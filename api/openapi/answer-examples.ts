import type { Examples } from './examples.ts'

const SUBMISSION_ID = '019b1c6e-0f3a-7c52-8d4e-6a2b9f1c7d35'

const QUEUED = {
  id: SUBMISSION_ID,
  state: 'queued',
  attempts: 0,
  acceptedAt: '2026-01-31T09:30:00.250Z',
  finishedAt: null,
  error: null,
}

/** Answers, by the name of the schema that describes them. */
export const ANSWER_EXAMPLES = {
  FeedbackCreated: {
    ticket: {
      summary: 'The ticket',
      value: {
        feedback: {
          id: 'b7f8a0d2-5c1e-8d93-8a46-1f0e9c3b7a24',
          description: 'The export stops at 1,000 rows, and nothing says so.',
          customerId: '4c9d2e71-8b3f-8a60-9e15-7d2c6b8f0a13',
          projectId: 'e2a6c5b8-1d4f-8e97-b038-9c7a5f2e6d41',
          rating: 2,
          sourceId: 'HD-4711',
          sourceData: { url: 'https://helpdesk.example/tickets/4711', queue: { name: 'exports' } },
        },
      },
    },
    least: {
      summary: 'A record without further values',
      value: { feedback: { id: SUBMISSION_ID, description: 'Love the new search.' } },
    },
  },
  Success: { accepted: { summary: 'Accepted', value: { success: true } } },
  BatchAnswered: {
    batch: {
      summary: 'One item accepted, one refused',
      value: {
        results: [
          { status: 201, submissionId: SUBMISSION_ID, body: { success: true } },
          { status: 400, body: { error: [{ message: 'description is required', path: 'description' }] } },
        ],
      },
    },
  },
  SubmissionFound: {
    queued: {
      summary: 'Still waiting',
      value: {
        submission: {
          ...QUEUED,
          operation: 'create_feedback',
        },
      },
    },
    purge: {
      summary: 'A purge that has ended',
      value: {
        submission: {
          ...QUEUED,
          operation: 'purge_contact',
          state: 'applied',
          attempts: 1,
          finishedAt: '2026-01-31T09:30:00.900Z',
          counts: { contacts: 1, feedback: 17, messages: 4, conversations: 1, deadSubmissions: 0 },
          identifiers: { id: '9db43468-a80e-8907-bff7-e876c315536f', email: null },
          consumers: { total: 1, confirmed: 1 },
        },
      },
    },
  },
  ThemeCreated: { made: { summary: 'The theme', value: { themeId: '6f0c8f44-52e5-4c1e-9d0b-3f2b7c1a9e55' } } },
  Alive: { alive: { summary: 'It runs', value: { alive: true } } },
  Ready: { ready: { summary: 'It serves', value: { ready: true } } },
} as const satisfies Readonly<Record<string, Examples>>

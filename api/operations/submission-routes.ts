import type { AnySubmissionKind } from '../submit/intake.ts'
import { identifyAccount } from './accounts.ts'
import { identifyContact, purgeContact } from './contacts.ts'
import { submitConversation } from './conversations.ts'
import { correctFeedback, deleteFeedback } from './corrections.ts'
import { createFeedback } from './feedbacks.ts'
import { createTheme, editTheme } from './themes.ts'

type SubmissionRoute = { method: 'POST' | 'PATCH' | 'DELETE'; path: string; kind: AnySubmissionKind }

export const SUBMISSION_ROUTES: readonly SubmissionRoute[] = [
  { method: 'POST', path: '/feedbacks', kind: createFeedback },
  { method: 'PATCH', path: '/feedbacks/:id', kind: correctFeedback },
  { method: 'DELETE', path: '/feedbacks/:id', kind: deleteFeedback },
  { method: 'POST', path: '/contacts/identify', kind: identifyContact },
  { method: 'POST', path: '/contacts/purge', kind: purgeContact },
  { method: 'POST', path: '/accounts/identify', kind: identifyAccount },
  { method: 'POST', path: '/conversations', kind: submitConversation },
  { method: 'POST', path: '/themes', kind: createTheme },
  { method: 'PATCH', path: '/themes/:id', kind: editTheme },
]

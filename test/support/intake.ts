import assert from 'node:assert/strict'
import { identifyAccount } from '../../api/operations/accounts.ts'
import { identifyContact, purgeContact } from '../../api/operations/contacts.ts'
import { submitConversation } from '../../api/operations/conversations.ts'
import { createFeedback } from '../../api/operations/feedbacks.ts'
import type { AnySubmissionKind } from '../../api/submit/intake.ts'
import type { IntakeDependencies } from '../../api/submit/intake-dependencies.ts'
import { submit } from '../../api/submit/submit.ts'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import type { Operation } from '../../contract/submission.ts'
import { MAX_BODY_BYTES, MAX_CONVERSATION_BODY_BYTES } from '../../contract/limits.ts'

const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
const SUBMISSION = '0190c2d4-8f0e-7c3a-9b1d-3a5e8f2b7c60'

const KINDS: Readonly<Record<Operation, AnySubmissionKind>> = {
  create_feedback: createFeedback,
  identify_contact: identifyContact,
  identify_account: identifyAccount,
  purge_contact: purgeContact,
  submit_conversation: submitConversation,
}

/** Takes in one body as the API does, from its bytes to the answer, without the work of stores. Returns the status. */
export const takeIn = async (operation: Operation, bytes: Uint8Array<ArrayBuffer>): Promise<number> => {
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(bytes.byteLength),
    'Idempotency-Key': 'key',
  }
  const request = new Request('http://x/', { method: 'POST', headers, body: bytes })
  const response = await submit(DEPENDENCIES, KINDS[operation], { request, token: 'token', span: undefined })
  await response.arrayBuffer()
  return response.status
}

const EMPTY_LOG = { isLogEmpty: true, isIdentifyWaiting: false, isPurgeWaiting: false }

const notAsked = (): never => {
  throw new Error('Nothing asks for this here')
}

const DEPENDENCIES: IntakeDependencies = {
  isWhole: async () => true,
  bodies: { hold: (_, work) => work(), inTurn: (_, work) => work(), takeAnswer: () => () => {}, figures: notAsked },
  emptyBuckets: { find: () => undefined, seen: () => {} },
  authenticate: async () => ({ workspaceId: WORKSPACE, scopes: ['admin'], expiresAt: null }),
  admit: async ({ bodyText, peek }) => {
    if (peek === true) return { outcome: 'fresh', ...EMPTY_LOG }
    assert.ok(bodyText.length > 0)
    return { outcome: 'admitted', submissionId: SUBMISSION, number: 1, bucket: undefined, ...EMPTY_LOG }
  },
  resolveReferences: async () => ({ contactId: null, projectId: null }),
  canPurgeMatch: async () => true,
  awaitProgress: async () => undefined,
  pressure: () => undefined,
  limitOf: () => undefined,
  maxBytes: { body: MAX_BODY_BYTES, conversation: MAX_CONVERSATION_BODY_BYTES },
  hashKey: hashKeyFrom('0'.repeat(64)),
  onFault: notAsked,
  count: () => {},
}

/** How many bytes a body of the operation may have. */
export const mostBytesOf = (operation: Operation): number =>
  operation === 'submit_conversation' ? DEPENDENCIES.maxBytes.conversation : DEPENDENCIES.maxBytes.body

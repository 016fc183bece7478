import { type AppDependencies, createApp } from '../../api/app.ts'
import { identifyAccount } from '../../api/operations/accounts.ts'
import { identifyContact, purgeContact } from '../../api/operations/contacts.ts'
import { correctFeedback, deleteFeedback } from '../../api/operations/corrections.ts'
import { createTheme, editTheme } from '../../api/operations/themes.ts'
import { submitConversation } from '../../api/operations/conversations.ts'
import { createFeedback } from '../../api/operations/feedbacks.ts'
import { FairSemaphore } from '../../runtime/fair-semaphore.ts'
import type { ReadDependencies } from '../../api/reads/reads.ts'
import type { AnySubmissionKind, IntakeDependencies } from '../../api/submit/intake.ts'
import { submit } from '../../api/submit/submit.ts'
import { feedbackId } from '../../contract/feedback-record.ts'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { MAX_BODY_BYTES, MAX_CONVERSATION_BODY_BYTES } from '../../contract/limits.ts'
import type { Operation } from '../../contract/submission.ts'
import type { Scope } from '../../db/tokens.ts'
import { capabilitiesWithoutStores } from './capabilities-without-stores.ts'

const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
export const SUBMISSION = '0190c2d4-8f0e-7c3a-9b1d-3a5e8f2b7c60'
export const EMPTY_LOG = { isLogEmpty: true, isIdentifyWaiting: false, isPurgeWaiting: false, hadPurges: false }

const SCOPES: readonly Scope[] = ['submit', 'read', 'read:personal', 'edit', 'admin', 'operator']

const notAsked = (): never => {
  throw new Error('These tests do not call this')
}

/** A token is the name of its scope. The stores are empty, and accept all submissions. */
const INTAKE: IntakeDependencies = {
  canStillAnswer: async () => true,
  bodies: {
    whenBytesFit: (_, work) => work(),
    oneLargeAtATime: (_, work) => work(),
    takeAnswer: () => () => {},
    figures: notAsked,
  },
  emptyBuckets: { find: () => undefined, remember: () => {} },
  authenticate: async (token) => {
    const scopes = SCOPES.filter((scope) => scope === token)
    return scopes.length === 0 ? { refused: 'unauthenticated' } : { workspaceId: WORKSPACE, scopes, expiresAt: null }
  },
  admit: async ({ isJudgedOnly }) =>
    isJudgedOnly
      ? { outcome: 'admissible', bucket: undefined, ...EMPTY_LOG }
      : { outcome: 'admitted', submissionId: SUBMISSION, number: 1, bucket: undefined, ...EMPTY_LOG },
  resolveReferences: async () => ({ contactId: null, projectId: null }),
  canPurgeMatch: async () => true,
  hasFeedback: async () => true,
  resolveFeedbackId: async ({ realm, submissionId, record }) => feedbackId({ ...realm, submissionId }, record),
  awaitProgress: async () => undefined,
  awaitFinished: async ({ submissionIds }) => submissionIds.map(() => undefined),
  pressure: { current: () => undefined, bytesLeft: () => Number.MAX_SAFE_INTEGER, added: () => {} },
  limitOf: () => undefined,
  maxBytes: { body: MAX_BODY_BYTES, conversation: MAX_CONVERSATION_BODY_BYTES },
  hashKey: hashKeyFrom('0'.repeat(64)),
  onFault: () => {},
  count: () => {},
}

/** A database without a row. */
export const emptyReads: ReadDependencies = {
  authenticate: INTAKE.authenticate,
  hashKey: INTAKE.hashKey,
  permits: new FairSemaphore(Infinity, 1),
  countPermits: new FairSemaphore(Infinity, 1),
  whenBytesFit: (_, read) => read(),
  takeAnswer: () => () => {},
  onFault: () => {},
  stop: new AbortController().signal,
  readRecord: async () => undefined,
  currentId: async (_, { id }) => id,
  readList: async () => ({ records: [], next: undefined }),
  countFeedback: async () => ({
    total: { feedback: 0, rated: 0, satisfaction: null, bad: null },
    groups: 0,
    top: [],
    next: undefined,
  }),
  listSources: async () => [],
  listFields: async () => [],
  readChanges: async (_, { after }) => ({ changes: [], next: after, passSince: undefined }),
}

type Given = Partial<Omit<AppDependencies, 'intake'>> & { intake?: Partial<IntakeDependencies> }

/** The API in this process. Given dependencies replace the empty ones. */
export const appWithoutStores = ({ intake: given = {}, reads: givenReads, ...others }: Given = {}): ReturnType<
  typeof createApp
> => {
  const intake = { ...INTAKE, ...given }
  const { authenticate, onFault } = intake
  const nothing = async (): Promise<undefined> => undefined
  const reads = { ...emptyReads, authenticate, onFault, ...givenReads }
  const setSource: AppDependencies['setSource'] = async ({ source }, { scale = null, link = null, fields = [] }) => ({
    source,
    ratings: 0,
    leastRating: null,
    mostRating: null,
    scale,
    isScaleGiven: true,
    link,
    fields,
  })
  return createApp({
    intake,
    reads,
    receipts: { authenticate, findStored: nothing, findQueued: nothing, onFault },
    setSource,
    capabilities: capabilitiesWithoutStores({ intake, reads, setSource }),
    readsTrailers: true,
    isReady: async () => true,
    board: notAsked,
    overview: notAsked,
    corsOrigins: [],
    metrics: notAsked,
    answered: () => {},
    log: () => {},
    ...others,
  })
}

const KINDS: Readonly<Record<Operation, AnySubmissionKind>> = {
  create_feedback: createFeedback,
  identify_contact: identifyContact,
  identify_account: identifyAccount,
  purge_contact: purgeContact,
  submit_conversation: submitConversation,
  correct_feedback: correctFeedback,
  delete_feedback: deleteFeedback,
  create_theme: createTheme,
  edit_theme: editTheme,
}

/**
 * Handles a body like the API, from its bytes to the answer, without routing. Returns the status.
 */
export const takeIn = async (operation: Operation, bytes: Uint8Array<ArrayBuffer>): Promise<number> => {
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(bytes.byteLength),
    'Idempotency-Key': 'key',
  }
  const request = new Request('http://x/', { method: 'POST', headers, body: bytes })
  const response = await submit(INTAKE, KINDS[operation], { request, token: 'admin', span: undefined })
  await response.arrayBuffer()
  return response.status
}

import { createReads } from './reads.ts'
import { type Connection, PASSING, patienceOf, PUT_OFF, RequestError, send, type Sent } from './send.ts'
import type {
  AccountRecord,
  BatchAnswered,
  BatchItem,
  BatchResult,
  ContactRecord,
  Correction,
  NewTheme,
  ThemeCreated,
  ThemeEdit,
  Conversation,
  FeedbackCreated,
  FeedbackSubmission,
  PurgeRequest,
  Receipt,
  Source,
  SourceFound,
  SourceSettings,
  SubmissionFound,
  Success,
} from './types.ts'
import { createWebhookCalls } from './webhook-calls.ts'

export type * from './types.ts'
export { each, followChanges } from './reads.ts'
export type {
  AccountQuery,
  ChangesQuery,
  CountsQuery,
  CustomerQuery,
  Dimension,
  FeedbackQuery,
  ListQuery,
  Reads,
} from './reads.ts'
export { verifyWebhook } from './verify-webhook.ts'
export { type Connection, RequestError } from './send.ts'

/** The body of an answer, with the id of the submission and, after a wait, its state. */
export type Accepted<Body> = Body & { readonly submissionId: string; readonly state: Receipt['state'] | undefined }

export type CallOptions = {
  /**
   * Requests with the same key count once within 24 hours. By default each call makes a key, which
   * its attempts share. If your program may restart and send the same record again, derive the key
   * from the record.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * Waits until the submission is no longer queued, at most this many seconds (30 at most). `state`
   * is its state by then.
   */
  readonly waitSeconds?: number | undefined
}

type Submit<Body, Answered = Success> = (body: Body, options?: CallOptions) => Promise<Accepted<Answered>>

/**
 * Each call repeats its request while a later attempt can succeed and its patience lasts.
 * A call whose request was not accepted rejects with a `RequestError`.
 */
export type Client = ReturnType<typeof createClient>

export const createClient = (connection: Connection) => {
  const submit =
    (path: string, method?: Sent['method']) =>
    (body: unknown, { idempotencyKey = crypto.randomUUID(), waitSeconds }: CallOptions = {}) =>
      submitOne(connection, { path, method, body, idempotencyKey, waitSeconds })
  const read = async (path: string): Promise<unknown> => (await send(connection, { path }, patienceOf(connection))).body
  return {
    ...createReads(connection),
    ...createWebhookCalls(connection),
    createFeedback: submit('/feedbacks') as Submit<FeedbackSubmission, FeedbackCreated>,
    identifyContact: submit('/contacts/identify') as Submit<ContactRecord>,
    identifyAccount: submit('/accounts/identify') as Submit<AccountRecord>,
    submitConversation: submit('/conversations') as Submit<Conversation>,
    /** Sets what a person knows better than the source. Requires a token of scope `edit` or `admin`. */
    correctFeedback: (id: string, correction: Correction, options?: CallOptions) =>
      submit(pathOf('/feedbacks', id), 'PATCH')(correction, options) as Promise<Accepted<Success>>,
    /** Deletes a feedback for good. Requires an admin token. 404: there is no such feedback. */
    deleteFeedback: (id: string, options?: CallOptions) =>
      submit(pathOf('/feedbacks', id), 'DELETE')(undefined, options) as Promise<Accepted<Success>>,
    /** Makes a theme from feedback. Requires a token of scope `edit` or `admin`. */
    createTheme: submit('/themes') as Submit<NewTheme, ThemeCreated>,
    /** Renames, hides or merges a theme, or puts feedback into it. Requires a token of scope `edit` or `admin`. */
    editTheme: (id: string, edit: ThemeEdit, options?: CallOptions) =>
      submit(pathOf('/themes', id), 'PATCH')(edit, options) as Promise<Accepted<Success>>,
    /** Requires an admin token. 404: no contact matches. */
    purgeContact: submit('/contacts/purge') as Submit<PurgeRequest>,
    /**
     * Up to 500 submissions, with one result for each, in their order. Repeats only items that may
     * be accepted later. So repeated items are accepted after the other items. A refused item is a
     * result, not an error.
     */
    submitBatch: (items: readonly BatchItem[], options?: Pick<CallOptions, 'waitSeconds'>) =>
      submitTogether(connection, items, options?.waitSeconds),
    /** Replaces the settings of a source. Requires an admin token. */
    putSource: async (source: string, settings: SourceSettings): Promise<Source> => {
      const sent = { method: 'PUT', path: pathOf('/sources', source), body: settings } as const
      return ((await send(connection, sent, patienceOf(connection))).body as SourceFound).source
    },
    /** The receipt of a submission. */
    getSubmission: async (id: string): Promise<Receipt> =>
      ((await read(pathOf('/submissions', id))) as SubmissionFound).submission,
  }
}

const pathOf = (list: string, id: string): string => `${list}/${encodeURIComponent(id)}`

const submitOne = async (connection: Connection, sent: Sent): Promise<Accepted<object>> => {
  const { status, body, headers } = await send(connection, sent, patienceOf(connection))
  const submissionId = headers.get('submission-id')
  if (submissionId === undefined)
    throw new RequestError('The answer has no Submission-Id. Check the address of the service.', { status })
  return { ...(body as object), submissionId, state: headers.get('submission-state') as Receipt['state'] | undefined }
}

const submitTogether = async (
  connection: Connection,
  given: readonly BatchItem[],
  waitSeconds: number | undefined,
): Promise<readonly BatchResult[]> => {
  const items = given.map((item) => ({ ...item, idempotencyKey: item.idempotencyKey ?? crypto.randomUUID() }))
  const results: BatchResult[] = []
  const patience = patienceOf(connection)
  for (let pending = [...items.keys()]; ;) {
    const sent = { path: '/batch', body: { items: pending.map((at) => items[at]) }, waitSeconds }
    const answer = await send(connection, sent, patience).catch((error: unknown) => {
      // A rejection would lose the results of accepted items.
      if (results.length === 0) throw error
    })
    if (answer === undefined) return results
    const answered = answer.body as BatchAnswered
    pending.forEach((at, place) => (results[at] = answered.results[place]!))
    pending = pending.filter((at) => PASSING.includes(results[at]!.status))
    if (pending.length === 0) return results
    // If the service has put off an item, this attempt does not count as a failure.
    const { status } = results[pending.find((at) => PUT_OFF.includes(results[at]!.status)) ?? pending[0]!]!
    const asked = pending.flatMap((at) => results[at]!.retryAfter ?? [])
    const retryAfterMs = asked.length > 0 ? Math.max(...asked) * 1_000 : undefined
    if (!(await patience({ status, retryAfterMs }))) return results
  }
}

import type { FairSemaphore } from '../../runtime/fair-semaphore.ts'
import { isProgrammingError } from '../../runtime/fault.ts'
import { asUuid, type HashKey } from '../../contract/identity/keys.ts'
import type { ChangesPage, FeedPlace } from '../../db/reads/changes.ts'
import type { CountRequest, FeedbackCounts } from '../../db/reads/counts.ts'
import type { ListPage, ListRequest } from '../../db/reads/lists.ts'
import type { RecordKind } from '../../contract/record-schemas.ts'
import type { NamedRecord } from '../../db/reads/records.ts'
import type { Source, SourceField, SourcesWanted } from '../../db/sources.ts'
import { type Authenticate, callerOf } from '../authenticate.ts'
import type { Arrival } from '../http/arrival.ts'
import { faultIds, type OnFault, requestIdOf } from '../http/request-id.ts'
import { isRefusal, type Refusal, refusalResponse } from '../http/refusal.ts'
import { jsonAnswer, type JsonText } from '../http/json-answer.ts'
import { readQuery } from './parameters.ts'
import type { ReadsInHand } from './reads-in-hand.ts'

/** The dependencies of reads. A look-up rejects if Postgres does not answer in time. */
export type ReadDependencies = {
  authenticate: Authenticate
  hashKey: HashKey
  /** Bounds the simultaneous reads of a workspace, which could otherwise take all connections. */
  permits: FairSemaphore
  /** A narrower bound for counts, which look at many records. */
  countPermits: FairSemaphore
  whenBytesFit: ReadsInHand['whenBytesFit']
  /** Until a large answer is written, it counts as in hand and holds a permit of its workspace. */
  takeAnswer: ReadsInHand['takeAnswer']
  onFault: OnFault
  /** Aborted when the process is to end. */
  stop: AbortSignal
  readRecord: (workspaceId: string, name: NamedRecord) => Promise<string | undefined>
  currentId: (workspaceId: string, name: NamedRecord) => Promise<string>
  readList: (request: ListRequest) => Promise<ListPage>
  countFeedback: (request: CountRequest) => Promise<FeedbackCounts>
  listSources: (workspaceId: string, wanted: SourcesWanted) => Promise<Source[]>
  listFields: (workspaceId: string) => Promise<SourceField[]>
  readChanges: (workspaceId: string, wanted: { after: FeedPlace; limit: number }) => Promise<ChangesPage>
}

/**
 * A resource that has a list and single records. `many` and `one` name the members of the answers.
 */
export type Resource = { path: string; kind: RecordKind; many: string; one: string }

export const RESOURCES = [
  { path: 'feedbacks', kind: 'feedback', many: 'feedbacks', one: 'feedback' },
  { path: 'customers', kind: 'customer', many: 'customers', one: 'customer' },
  { path: 'accounts', kind: 'account', many: 'accounts', one: 'account' },
  { path: 'projects', kind: 'project', many: 'projects', one: 'project' },
  { path: 'themes', kind: 'theme', many: 'themes', one: 'theme' },
  { path: 'alerts', kind: 'alert', many: 'alerts', one: 'alert' },
  { path: 'digests', kind: 'digest', many: 'digests', one: 'digest' },
  { path: 'feedback-categories', kind: 'feedback_category', many: 'feedbackCategories', one: 'feedbackCategory' },
  { path: 'conversations', kind: 'conversation', many: 'conversations', one: 'conversation' },
] as const satisfies readonly Resource[]

/** The input of each read handler. */
export type ReadContext = { workspaceId: string; request: Request; dependencies: ReadDependencies }

/** The text of an answer, or why there is none. */
export type ReadAnswer = { json: JsonText; headers?: Record<string, string> } | Refusal

export type ReadHandler = (context: ReadContext) => Promise<ReadAnswer>

/** Answers a read if its token permits reading. */
export const answerRead = async (
  dependencies: ReadDependencies,
  arrival: Arrival,
  handle: ReadHandler,
): Promise<Response> => {
  const { request, span } = arrival
  const refuse = (refusal: Refusal): Response => {
    span?.set({ 'feedback_insights.refused': refusal.refused })
    return refusalResponse(refusal)
  }
  const caller = await callerOf(dependencies.authenticate, arrival, 'read')
  if (isRefusal(caller)) return refuse(caller)
  const { workspaceId } = caller
  const answer = await handleSafely({ workspaceId, request, dependencies }, handle)
  if (isRefusal(answer)) return refuse(answer)
  return jsonAnswer(dependencies, answer.json, { workspaceId, status: 200, headers: answer.headers ?? {} })
}

const handleSafely = async (context: ReadContext, handle: ReadHandler): Promise<ReadAnswer> => {
  try {
    return await handle(context)
  } catch (error) {
    return refusalOfFault(context, error)
  }
}

/**
 * Logs the fault of a read, but no content. Refuses with 500 after an error of this program, else
 * with 503.
 */
export const refusalOfFault = ({ workspaceId, request, dependencies }: ReadContext, error: unknown): Refusal => {
  dependencies.onFault('read_failed', error, faultIds(request, { workspaceId }))
  return isProgrammingError(error)
    ? { refused: 'unforeseen', requestId: requestIdOf(request) }
    : { refused: 'unavailable', why: 'reads' }
}

/** How long reads and counts wait for their permits. */
const PATIENCE_MS = { permits: 1_000, countPermits: 5_000 }

/** Does the work with a permit of the workspace, once its answer fits. */
export const withPermit = async <T extends object>(
  { workspaceId, dependencies }: ReadContext,
  work: () => Promise<T>,
  bound: keyof typeof PATIENCE_MS = 'permits',
): Promise<T | Refusal> => {
  const patienceMs = PATIENCE_MS[bound]
  const workOnceItFits = () => dependencies.whenBytesFit(workspaceId, work, patienceMs)
  const done = await dependencies[bound].tryRun({ workspaceId, permits: 1 }, workOnceItFits, patienceMs)
  return done ?? { refused: 'unavailable', why: 'reads-at-once' }
}

/** One record of a resource, by its own id or by an id that was merged into the record. */
export const readOne =
  ({ kind, one }: Resource, id: string): ReadHandler =>
  async (context) => {
    const query = readQuery(context.request, {})
    const record = isRefusal(query) ? query : await findRecord(context, kind, id)
    return isRefusal(record) ? record : { json: [`{${JSON.stringify(one)}:`, record.json, '}'] }
  }

type FoundRecord = { id: string; json: string }

export const findRecord = async (
  context: ReadContext,
  kind: RecordKind,
  id: string,
): Promise<FoundRecord | Refusal> => {
  const own = asUuid(id)
  if (own === undefined) return { refused: 'no-such-record' }
  const { workspaceId, dependencies } = context
  return withPermit(context, async (): Promise<FoundRecord | Refusal> => {
    const current = await dependencies.currentId(workspaceId, { kind, id: own })
    const json = await dependencies.readRecord(workspaceId, { kind, id: current })
    return json === undefined ? { refused: 'no-such-record' } : { id: current, json }
  })
}

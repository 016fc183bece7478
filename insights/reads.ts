import type { HashKey } from '../contract/identity/keys.ts'
import type { JsonObject } from '../contract/json.ts'
import type { RecordKind } from '../contract/record-schemas.ts'
import type { Sql } from '../db/connection/postgres.ts'
import {
  type AccountContext,
  countSimilar,
  type FeedbackContext,
  readAccountContext,
  readCorrections,
  readFeedbackContext,
  readThemeEdits,
} from '../db/reads/context.ts'
import { countFeedback, type CountRequest, type FeedbackCounts } from '../db/reads/counts.ts'
import { type ListPage, type ListRequest, readList } from '../db/reads/lists.ts'
import { findNames, type NamedThing } from '../db/reads/names.ts'
import { type AnswersRequest, countAnswers } from '../db/reads/nps.ts'
import { currentId, readRecords } from '../db/reads/records.ts'
import { withStoredHashes } from '../db/reads/search.ts'
import { readSpans, type Spans, type SpansRequest } from '../db/reads/spans.ts'
import { listFields, listSourceSettings, type Source, type SourceField } from '../db/sources.ts'
import { readWorkspaceName } from '../db/workspaces/workspaces.ts'

type OfWorkspace<Request> = Omit<Request, 'workspaceId'>

/** A record, and the id that it has now. */
export type CurrentRecord = { id: string; record: unknown }

/** What the pages read of one workspace. A read rejects if it has no answer. */
export type InsightReads = {
  workspaceName: () => Promise<string | undefined>
  spans: (asked: OfWorkspace<SpansRequest>) => Promise<Spans>
  count: (asked: OfWorkspace<CountRequest>) => Promise<FeedbackCounts>
  answers: (asked: OfWorkspace<AnswersRequest>) => ReturnType<typeof countAnswers>
  names: (name: string) => Promise<NamedThing[]>
  list: (asked: OfWorkspace<ListRequest>) => Promise<ListPage>
  record: (kind: RecordKind, id: string) => Promise<CurrentRecord | undefined>
  feedbackContext: (id: string) => Promise<FeedbackContext | undefined>
  accountContext: (id: string) => Promise<AccountContext | undefined>
  corrections: (id: string) => Promise<JsonObject>
  themeEdits: (id: string) => Promise<JsonObject>
  similar: (ids: readonly string[]) => Promise<ReadonlyMap<string, number>>
  sources: () => Promise<Omit<Source, 'feedback'>[]>
  fields: () => Promise<SourceField[]>
}

/** The reads that look at many records. */
export const HEAVY: ReadonlySet<string> = new Set<keyof InsightReads>(['spans', 'count', 'answers', 'names'])

/** `hashKey`: for searches of words. */
export const createReads = (
  sql: Sql,
  { workspaceId, hashKey }: { workspaceId: string; hashKey?: HashKey },
): InsightReads => {
  const inWorkspace = <Request extends { filters: CountRequest['filters'] }>(asked: Request) => {
    const request = { ...asked, workspaceId }
    return hashKey === undefined ? request : withStoredHashes(hashKey, request)
  }
  return {
    workspaceName: () => readWorkspaceName(sql, workspaceId),
    spans: (asked) => readSpans(sql, inWorkspace(asked)),
    count: (asked) => countFeedback(sql, inWorkspace(asked)),
    answers: (asked) => countAnswers(sql, inWorkspace(asked)),
    names: (name) => findNames(sql, workspaceId, { name, ofPeople: true }),
    list: (asked) => readList(sql, inWorkspace(asked)),
    record: async (kind, given) => {
      const id = await currentId(sql, workspaceId, { kind, id: given })
      const [json] = await readRecords(sql, workspaceId, [{ kind, id }])
      return json === undefined ? undefined : { id, record: JSON.parse(json) }
    },
    feedbackContext: (id) => readFeedbackContext(sql, workspaceId, id),
    accountContext: (id) => readAccountContext(sql, workspaceId, id),
    corrections: (id) => readCorrections(sql, workspaceId, id),
    themeEdits: (id) => readThemeEdits(sql, workspaceId, id),
    similar: (ids) => countSimilar(sql, workspaceId, ids),
    sources: () => listSourceSettings(sql, workspaceId),
    fields: () => listFields(sql, workspaceId),
  }
}

import type { AccountContext, FeedbackContext } from '../../db/reads/context.ts'
import type { GroupChange, Comparison, ComparisonRequest } from '../../db/reads/comparison.ts'
import type { CountRequest } from '../../db/reads/counts.ts'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import type { NamedThing } from '../../db/reads/names.ts'
import type { AnswersRequest, countAnswers } from '../../db/reads/nps.ts'
import { readCountPage } from '../reads/counts.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { findDeclared } from '../reads/declared-fields.ts'
import { type Page, readPage, type WantedPage } from '../reads/lists.ts'
import { type ReadContext, withPermit } from '../reads/reads.ts'
import { feedbackOf, groupOf, type GroupShown, keyOf } from './answers.ts'
import type { Sight } from './quote.ts'

/** The reads that only agents use. Each rejects if the database does not answer in time. */
export type AgentReads = {
  compare: (asked: ComparisonRequest) => Promise<Comparison>
  feedbackContext: (workspaceId: string, id: string) => Promise<FeedbackContext | undefined>
  accountContext: (workspaceId: string, id: string) => Promise<AccountContext | undefined>
  findAccount: (workspaceId: string, nameOrDomain: string) => Promise<string | undefined>
  findNames: (workspaceId: string, asked: { name: string; ofPeople: boolean }) => Promise<NamedThing[]>
  contractValues: (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, number>>
  countAnswers: (asked: AnswersRequest) => ReturnType<typeof countAnswers>
}

/** One call of an agent, in the workspace of its token. */
export type AgentRead = ReadContext & { sight: Sight; agentReads: AgentReads; now: () => Date }

/** Records, as an agent sees them. `unknownWords`: as in `ListPage`. */
type FoundRecords<Shown> = { records: Shown[]; next: string | null; unknownWords: string[] | undefined }

/** After this time, an answer with fewer records than its limit reads no further page. */
const LOOK_FOR_MS = 150

/**
 * The next records of a list, as `shownAs` makes them. They can be fewer than `limit` although the
 * list goes on. A record can have megabytes, so that only those of one page are in hand.
 */
export const findRecords = async <Shown>(
  asked: AgentRead,
  wanted: WantedPage,
  { from, shownAs }: { from: string | undefined; shownAs: (record: unknown, sight: Sight) => Shown },
): Promise<FoundRecords<Shown> | Refusal> => {
  const records: Shown[] = []
  let unknownWords: string[] | undefined
  let next: string | undefined = from
  const until = performance.now() + LOOK_FOR_MS
  do {
    const page: Page | Refusal = await readPage(asked, { ...wanted, limit: wanted.limit - records.length }, next)
    if (isRefusal(page)) return page
    for (const record of JSON.parse(`[${page.records}]`) as unknown[]) records.push(shownAs(record, asked.sight))
    next = (JSON.parse(page.next) as string | null) ?? undefined
    unknownWords = page.unknownWords
  } while (next !== undefined && records.length < wanted.limit && performance.now() < until)
  return { records, next: next ?? null, unknownWords }
}

export type FeedbackPage = { limit: number; next?: string | undefined; order?: 'newest' | 'oldest' }

/** The next feedback of a list, as agents see it. */
export const findFeedback = async (
  asked: AgentRead,
  filters: FeedbackFilters,
  { limit, next: from, order = 'newest' }: FeedbackPage,
): Promise<FoundRecords<ReturnType<typeof feedbackOf>> | Refusal> => {
  const list = { kind: 'feedback', limit, isOldestFirst: order === 'oldest', filters } as const
  return findRecords(asked, list, { from, shownAs: (record, sight) => feedbackOf(record, sight) })
}

export type CountAsked = Omit<CountRequest, 'workspaceId' | 'after'> & { next?: string | undefined }

/** Figures in total and of groups, as agents see them. Groups of accounts have their contract values. */
export const countForAgent = async (asked: AgentRead, { next: from, ...given }: CountAsked) => {
  const counts = await readCountPage(asked, given, from)
  if (isRefusal(counts)) return counts
  const { total, top, groups, cursor, unknownWords } = counts
  const shown = top.map((each) => groupOf(each, given.by, asked.sight))
  const found = await withContractValues(asked, shown)
  return isRefusal(found) ? found : { ...total, unknownWords, groups: found, groupsInAll: groups, next: cursor }
}

const withContractValues = async (asked: AgentRead, groups: GroupShown[]): Promise<GroupShown[] | Refusal> => {
  const ids = groups.flatMap(({ account }) => (typeof account === 'string' ? [account] : []))
  if (ids.length === 0) return groups
  const values = await withPermit(asked, () => asked.agentReads.contractValues(asked.workspaceId, ids))
  if (isRefusal(values)) return values
  return groups.map((group) => {
    const value = values.get(String(group['account']))
    return value === undefined ? group : { ...group, contractValue: value }
  })
}

export const compareForAgent = async (asked: AgentRead, given: Omit<ComparisonRequest, 'workspaceId'>) => {
  const { workspaceId, agentReads } = asked
  const declared = await findDeclared(asked, { filters: given.filters, by: [given.by] })
  if (isRefusal(declared)) return declared
  const found = await withPermit(
    asked,
    () => agentReads.compare({ ...given, ...declared, workspaceId }),
    'countPermits',
  )
  if (isRefusal(found)) return found
  const shownGroups = (changes: GroupChange[]) =>
    changes.map(({ key, name, ...spans }) => ({ ...keyOf({ key, name }, given.by, asked.sight), ...spans }))
  return { ...found, grows: shownGroups(found.grows), falls: shownGroups(found.falls) }
}
